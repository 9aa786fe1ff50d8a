import type { Release } from './releases.ts'

/** Times are in milliseconds. docs/CLOCKS.md says which of them to use where. */
export interface Clock {
  /** Unix time, for dates that are shown or stored. People and NTP can set it forward and back. */
  now(): number
  /** Time since an arbitrary start, for comparisons within the process. Nobody can set it. */
  monotonic(): number
  /** Unix time as if nobody had set the clock since the process started. */
  steady(): number
  /** Runs `work` once unless released first. Does not keep the process alive. */
  after(ms: number, work: () => void): Release
  every(ms: number, work: () => void): Release
}

const startedAt = Date.now() - performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  steady: () => Math.floor(startedAt + performance.now()),
  after(ms, work) {
    const timer = setTimeout(work, ms).unref()
    return () => clearTimeout(timer)
  },
  every(ms, work) {
    const timer = setInterval(work, ms).unref()
    return () => clearInterval(timer)
  }
}

type Hands = Pick<Clock, 'now' | 'steady'>

/** Use it to expire things: setting the clock back revives nothing. */
export const latest = (clock: Hands): number => Math.max(clock.now(), clock.steady())

/** Use it to delete what is old: setting the clock forward deletes nothing young. */
export const earliest = (clock: Hands): number => Math.min(clock.now(), clock.steady())

/** RFC 3339, UTC. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()

export const timestampOrNull = (ms: number | null | undefined): string | null => (ms ? timestamp(ms) : null)
