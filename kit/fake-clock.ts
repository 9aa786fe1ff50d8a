import type { Clock } from '../kernel/base/clock.ts'
import { isStoreWorking } from './test-store.ts'

export interface FakeClock extends Clock {
  /**
   * Advances the time and runs due timers in order. Promises settle before and after each, including those of a
   * store that answers over a socket.
   */
  advance(ms: number): Promise<void>
  /** Sets the wall clock forward or, below 0, back. No time passes. */
  step(ms: number): void
}

const maxSettleMs = 1000 // real time: a change may wait for this clock

interface Timer {
  at: number // monotonic
  readonly every: number | null
  readonly work: () => void
}

/** Returns a clock that moves only by `advance` and `step`. */
export function fakeClock(startMs = Date.UTC(2026, 0, 15, 12)): FakeClock {
  const timers = new Set<Timer>()
  let passed = 0
  let stepped = 0

  const add = (ms: number, every: number | null, work: () => void) => {
    const timer: Timer = { at: passed + ms, every, work }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const settled = async (): Promise<void> => {
    const begunAt = performance.now()
    do await new Promise<void>(resolve => setImmediate(resolve))
    while (isStoreWorking() && performance.now() - begunAt < maxSettleMs)
  }

  return {
    now: () => startMs + passed + stepped,
    monotonic: () => passed,
    steady: () => startMs + passed,
    step(ms) {
      stepped += ms
    },
    after: (ms, work) => add(Math.trunc(ms), null, work), // like setTimeout; delays may be random
    every: (ms, work) => add(ms, ms, withoutOverlap(work)),
    async advance(ms) {
      const until = passed + ms
      await settled()
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until)
        const next = due.sort((a, b) => a.at - b.at).at(0)
        if (!next) break
        passed = Math.max(passed, next.at)
        if (next.every === null) timers.delete(next)
        else next.at += next.every
        next.work()
        await settled()
      }
      passed = until
      await settled()
    }
  }
}

/** Skips runs while an earlier one is at work, like the clock of a server. */
function withoutOverlap(work: () => unknown): () => void {
  let isRunning = false
  return () => {
    if (isRunning) return
    isRunning = true
    const ended = (): void => {
      isRunning = false
    }
    const result = work()
    if (result instanceof Promise) result.then(ended, ended)
    else ended()
  }
}
