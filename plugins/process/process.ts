import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Watched } from './blamed-plugin.ts'
import { releaseMemoryWhenIdle } from './idle-memory.ts'
import { startWatchdog } from './watchdog.ts'

interface Options {
  readonly watched: Watched
  readonly patienceMs: number
  readonly returnsMemory: boolean
  readonly log: Log
  readonly defer: (release: Release) => void
}

/** Watches the event loop, logs uncaught errors, and returns unused memory to the system while the process is idle. */
export function superviseProcess({ watched, patienceMs, returnsMemory, log, defer }: Options): void {
  startWatchdog({ watched, patienceMs, log, defer })
  if (returnsMemory) releaseMemoryWhenIdle({ log, defer })
}
