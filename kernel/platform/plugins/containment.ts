// Contains failures in timers of plugins, on server and agent: it logs a failure once and backs off. Also finds the external
// plugin that caused an uncaught error.
import { runningPlugin } from '../../base/attribution.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Release } from '../../base/releases.ts'
import { Refused } from '../../wire/message.ts'

type Work = () => unknown

interface Hook {
  readonly plugin: string
  readonly hook: string
}

export function logFailure(log: Log, { plugin, hook }: Hook, error: unknown): void {
  if (error instanceof Refused && error.code === 'wire.closed')
    log.debug('plugin.stream_closed', error.message, { plugin, hook })
  else
    log.error('plugin.failed', String(error), {
      plugin,
      hook,
      error: error instanceof Error ? error.stack : null
    })
}

/** Wraps the work: it still rejects, and only the first of several failures in a row is logged. */
export function loggedOnce(log: Log, hook: Hook, work: Work): () => Promise<void> {
  let isFailing = false
  return async () => {
    try {
      await work()
      isFailing = false
    } catch (error) {
      if (!isFailing) logFailure(log, hook, error)
      isFailing = true
      throw error
    }
  }
}

const outside = new Set<string>() // names of external plugins

export const markOutside = (plugin: string): void => void outside.add(plugin)

/** True once an external plugin was loaded. */
export const hasOutside = (): boolean => outside.size > 0

/** Returns the external plugin that started the current work, if any. */
export function runningOutside(): string | undefined {
  const plugin = runningPlugin()
  return plugin !== undefined && outside.has(plugin) ? plugin : undefined
}

const maxRestMs = 600_000

/** Returns a clock that logs failures of timers instead of passing them on. */
export function containedClock(clock: Clock, plugin: string, log: Log): Clock {
  const contain = (hook: string, work: Work) => loggedOnce(log, { plugin, hook }, work)
  return {
    ...clock,
    after(ms, work) {
      const run = contain('clock.after', work)
      return clock.after(ms, () => void run().catch(() => {})) // already logged
    },
    every: (ms, work) => everyContained(clock, ms, contain('clock.every', work))
  }
}

/** Runs the work every `ms`, unless it still runs. After failures in a row it skips 0, 1, 3, 7, ... runs, for at most 10 minutes. */
function everyContained(clock: Clock, ms: number, work: () => Promise<void>): Release {
  let failures = 0
  let runsToSkip = 0
  const ended = (failed: number): void => {
    failures = failed
    runsToSkip = Math.min(2 ** (failed - 1) - 1, Math.floor(maxRestMs / ms)) // below 0 after a success
  }
  return clock.every(ms, () => {
    if (runsToSkip-- > 0) return
    runsToSkip = Number.POSITIVE_INFINITY // until the work has ended
    void work().then(
      () => ended(0),
      () => ended(failures + 1)
    )
  })
}
