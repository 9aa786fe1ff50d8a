// A link between two processes that can be paused, cut and redirected.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'

export interface Link {
  readonly port: number
  /** Redirects to this port and cuts existing connections. */
  lead(to: number): Promise<void>
  /** Stops all bytes without an error at either end: SIGSTOP. */
  signal(name: NodeJS.Signals): void
  end(): void
}

/** Makes a link without a target. */
export async function openLink(): Promise<Link> {
  const port = await freePort()
  let child: ChildProcess | null = null
  const end = (): void => void child?.kill('SIGKILL')
  return {
    port,
    end,
    async lead(to) {
      const before = child
      end()
      if (before && before.exitCode === null && before.signalCode === null) await once(before, 'exit')
      child = spawnChild(
        process.execPath,
        [join(import.meta.dirname, 'forwarder.ts'), String(port), String(to)],
        {
          stdio: ['ignore', 'pipe', 'inherit']
        }
      )
      if (child.stdout) await once(child.stdout, 'data')
    },
    signal: name => void child?.kill(name)
  }
}
