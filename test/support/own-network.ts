// Runs a script in a separate network namespace, where it may change addresses and settings (unshare(1)).
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { spawnChild } from './child-process.ts'

const arguments_ = [process.getuid?.() === 0 ? '-n' : '-rn', 'sh', '-c']
const start = 'ip link set lo up'

/** The reason to skip tests in a separate network, or null. */
export const noOwnNetwork: string | null =
  spawnSync('unshare', [...arguments_, start], { stdio: 'ignore' }).status === 0
    ? null
    : 'this host does not allow a network namespace'

/** Runs a TypeScript script, which must exit with 0. Resolves with the `seen` of its message. */
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
