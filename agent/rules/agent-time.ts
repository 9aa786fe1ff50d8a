// The server's time for plugins, with timers that follow its corrections.
import { type Clock, latest } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Journal } from '../journal/journal.ts'
import type { AgentTime } from './contract.ts'

interface Timer {
  readonly ms: number
  cancel: Release
}

interface Options {
  readonly clock: Clock
  readonly journal: Pick<Journal, 'now' | 'isTimeKnown'>
}

export interface CorrectableTime extends AgentTime {
  /** Runs `correct`, which sets the time by the server's. Returns whether the time has gone back. */
  correct(correct: () => void): boolean
  stop(): void
}

const maxWaitMs = 3_600_000 // setTimeout drifts, and is limited to 24 days

export function openAgentTime({ clock, journal }: Options): CorrectableTime {
  const timers = new Map<Timer, () => void>() // with the function that arms it

  /** Without the server, the saved time of a host that was off for a day would be a day late. */
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
    /** While the time does not move because the server's was set back, it polls with backoff, from `leastMs` to 1 s. */
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
    correct(correct) {
      const before = now()
      correct()
      for (const [{ ms }, arm] of timers) if (ms > before) arm() // the others are due or being retried
      return now() < before
    },
    stop() {
      for (const { cancel } of timers.keys()) void cancel()
      timers.clear()
    }
  }
}
