// Runs a script in a separate network namespace, where it may change addresses and settings (unshare(1)).
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { spawnChild } from './child-process.ts'

const arguments_ = [process.getuid?.() === 0 ? '-n' : '-rn', 'sh', '-c']
const start = 'ip link set lo up'

/** The reason why this host allows none; null if it may. */
export const noOwnNetwork: string | null =
  spawnSync('unshare', [...arguments_, start], { stdio: 'ignore' }).status === 0
    ? null
    : 'a network of its own is not allowed here'

/** Runs a TypeScript script until it exits with 0. Resolves with the `seen` that it sent. */
export async function runInOwnNetwork(
  t: Test,
  script: string,
  env: NodeJS.ProcessEnv = {}
): Promise<unknown> {
  const child = spawnChild('unshare', [...arguments_, `${start}; exec "$0" "$1"`, process.execPath, script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let seen: unknown
  child.on('message', (message: { readonly seen?: unknown }) => {
    seen = message.seen ?? seen // the test runner sends messages, too
  })
  t.same(await once(child, 'exit'), [0, null])
  return seen
}
