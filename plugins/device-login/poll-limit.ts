import type { Clock } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { slowDown } from './codes.ts'

export const intervalSecs = 5
const stepMs = 5_000
const maxKnown = 1_000 // as many as there are open requests

interface Poll {
  readonly at: number
  readonly intervalMs: number
}

/** The interval of each request, in the memory of this server. It grows with each poll that is too early (RFC 8628, 3.5). */
export interface PollLimit {
  /** Throws `slow_down`. */
  take(id: string): void
}

export function openPollLimit(clock: Pick<Clock, 'monotonic'>): PollLimit {
  const polls = new Map<string, Poll>() // the least recent first
  return {
    take(id) {
      const now = clock.monotonic()
      const { at, intervalMs } = polls.get(id) ?? { at: -Infinity, intervalMs: intervalSecs * 1000 }
      const isEarly = now - at < intervalMs
      polls.delete(id)
      polls.set(id, { at: now, intervalMs: isEarly ? intervalMs + stepMs : intervalMs })
      const [oldest] = polls.keys()
      if (polls.size > maxKnown && oldest !== undefined) polls.delete(oldest)
      if (!isEarly) return
      const secs = (intervalMs + stepMs) / 1000
      throw new Fault(slowDown, `poll every ${secs} s`, { details: { interval: secs } })
    }
  }
}
