// A way between two processes that can be stopped, cut, and led elsewhere.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'

export interface Link {
  readonly port: number
  /** Leads to this port from now on: connections that are there are cut. */
  lead(to: number): Promise<void>
  /** SIGSTOP: no byte passes, and nobody is told. */
  signal(name: NodeJS.Signals): void
  end(): void
}

/** One that leads nowhere yet. */
export async function openLink(): Promise<Link> {
  const port = await freePort()
  let child: ChildProcess | null = null
  const end = (): void => void child?.kill('SIGKILL')
  return {
    ...{ port, end },
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
