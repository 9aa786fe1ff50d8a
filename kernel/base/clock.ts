import type { Release } from './releases.ts'

/** A service, so that tests can advance time. In milliseconds. docs/CLOCKS.md says which clock decides what. */
export interface Clock {
  /** Wall time since 1970, UTC: for what is shown or stored as a date. People and NTP set it, in both directions. */
  now(): number
  /** Time since some instant of this process, never set: for whatever is compared within the process. */
  monotonic(): number
  /** What the wall clock would show if nobody had set it since the process began. */
  steady(): number
  /** Runs `work` once, unless released before. Does not keep the process alive. */
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

/** Judges what has expired: a clock that is set back opens nothing again. */
export const latest = (clock: Hands): number => Math.max(clock.now(), clock.steady())

/** Judges what is old enough to be deleted: a clock that is set forward deletes nothing young. */
export const earliest = (clock: Hands): number => Math.min(clock.now(), clock.steady())

/** RFC 3339, UTC. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()

export const timestampOrNull = (ms: number | null | undefined): string | null => (ms ? timestamp(ms) : null)
