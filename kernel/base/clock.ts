import type { Release } from './releases.ts'

/** A service, so that tests can advance time. Milliseconds since 1970, UTC. */
export interface Clock {
  now(): number
  /** Runs `work` once, unless released before. Does not keep the process alive. */
  after(ms: number, work: () => void): Release
  every(ms: number, work: () => void): Release
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, work) {
    const timer = setTimeout(work, ms).unref()
    return () => clearTimeout(timer)
  },
  every(ms, work) {
    const timer = setInterval(work, ms).unref()
    return () => clearInterval(timer)
  }
}

/** RFC 3339, UTC. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()

export const timestampOrNull = (ms: number | null | undefined): string | null => (ms ? timestamp(ms) : null)
