// Limits the log lines about probes: a host that loses its network loses the targets of all of its rules at once.
import type { Clock } from '../../kernel/base/clock.ts'

const linesPerMinute = 20 // of one owner
const minuteMs = 60_000

/** Calls `write` with the number of lines of the owner that were suppressed before, or suppresses this one. */
export type LineLimit = (owner: string, write: (suppressed: number) => void) => void

export function openLineLimit(clock: Pick<Clock, 'monotonic'>): LineLimit {
  let counts = new Map<string, number>() // lines of this minute by owner
  let earlier = new Map<string, number>() // lines of the minute before
  let since = clock.monotonic()

  return (owner, write) => {
    const now = clock.monotonic()
    if (now - since >= minuteMs) {
      earlier = counts
      counts = new Map()
      since = now
    }
    const count = counts.get(owner) ?? 0
    counts.set(owner, count + 1)
    if (count >= linesPerMinute) return
    write(count === 0 ? Math.max(0, (earlier.get(owner) ?? 0) - linesPerMinute) : 0)
  }
}
