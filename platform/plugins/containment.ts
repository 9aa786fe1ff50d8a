// Contains failures in timers of plugins, on server and agent: a failure is logged once, and the timer backs off. Also tells
// which external plugin caused an uncaught error.
import { runningPlugin } from '../../kernel/base/attribution.ts'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { Refused } from '../../kernel/wire/message.ts'

type Work = () => unknown

interface Hook {
  readonly plugin: string
  readonly hook: string
}

export function logFailure(log: Log, { plugin, hook }: Hook, error: unknown): void {
  if (error instanceof Refused && error.code === 'wire.closed')
    log.debug('plugin.unheard', error.message, { plugin, hook })
  else
    log.error('plugin.failed', String(error), {
      plugin,
      hook,
      error: error instanceof Error ? error.stack : null
    })
}

/** Returns the work as a function that rejects when it fails, and logs the first of several failures in a row. */
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

const outside = new Set<string>() // names of plugins that are not built in

export const markOutside = (plugin: string): void => void outside.add(plugin)

/** True once a plugin that is not built in was loaded. */
export const hasOutside = (): boolean => outside.size > 0

/** Returns the plugin that began what runs now, if it is not built in. */
export function runningOutside(): string | undefined {
  const plugin = runningPlugin()
  return plugin !== undefined && outside.has(plugin) ? plugin : undefined
}

const maxRestMs = 600_000

/** Returns the clock with timers whose failures end nothing. */
export function containedClock(clock: Clock, plugin: string, log: Log): Clock {
  const contain = (hook: string, work: Work) => loggedOnce(log, { plugin, hook }, work)
  return {
    ...clock,
    after(ms, work) {
      const run = contain('clock.after', work)
      return clock.after(ms, () => void run().catch(() => {})) // it is logged
    },
    every: (ms, work) => everyContained(clock, ms, contain('clock.every', work))
  }
}

/** Runs the work every `ms`; after failures in a row it is left out: 0, 1, 3, 7 times and so on, for at most 10 minutes. */
function everyContained(clock: Clock, ms: number, work: () => Promise<void>): Release {
  let failures = 0
  let toLeaveOut = 0
  const succeeded = (): void => {
    failures = 0
  }
  const failed = (): void => {
    toLeaveOut = Math.min(2 ** failures++ - 1, Math.floor(maxRestMs / ms))
  }
  return clock.every(ms, () => {
    if (toLeaveOut > 0) toLeaveOut--
    else void work().then(succeeded, failed)
  })
}
