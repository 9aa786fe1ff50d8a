// The server's time for plugins, with timers that follow its corrections.
import { type Clock, latest } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Journal } from '../journal/journal.ts'

interface Timer {
  readonly ms: number
  cancel: Release
}

interface Options {
  readonly clock: Clock
  readonly journal: Pick<Journal, 'now' | 'isTimeKnown'>
}

export type Time = ReturnType<typeof openAgentTime>

const maxWaitMs = 3_600_000 // setTimeout keeps no more than 24 days, and drifts

export function openAgentTime({ clock, journal }: Options) {
  const timers = new Map<Timer, () => void>() // waiting, with what arms them

  /** Without the server, a host that was off for a day must not take its last word for the time. */
  const now = (): number => (journal.isTimeKnown() ? journal.now() : Math.max(journal.now(), latest(clock)))

  function at(ms: number, work: () => unknown): Release {
    const timer: Timer = { ms, cancel() {} }
    const release = (): void => {
      void timer.cancel()
      timers.delete(timer)
    }
    const run = async (failures: number): Promise<void> => {
      try {
        await work()
        release()
      } catch {
        // The plugin's guard has logged it.
        if (timers.has(timer))
          timer.cancel = clock.after(Math.min(1000 * 2 ** failures, 60_000), () => void run(failures + 1))
      }
    }
    /** Where the time stands still because the server's was set back, it looks again after `leastMs`, growing to 1 s. */
    const arm = (leastMs = 0): void => {
      void timer.cancel()
      const leftMs = Math.min(ms - now(), maxWaitMs)
      timer.cancel = clock.after(Math.max(leftMs, leastMs), () =>
        now() < ms ? arm(Math.min(Math.max(10, leastMs * 2), 1000)) : void run(0)
      )
    }
    timers.set(timer, arm)
    arm()
    return release
  }

  return {
    now,
    at,
    /** Lets `correct` set the time by the server's; returns whether it has gone back. */
    corrected(correct: () => void): boolean {
      const before = now()
      correct()
      for (const [{ ms }, arm] of timers) if (ms > before) arm() // others are due, or wait to be repeated
      return now() < before
    },
    stop(): void {
      for (const { cancel } of timers.keys()) void cancel()
      timers.clear()
    }
  }
}
