// The server's time as this agent knows it: an offset to the monotonic clock. The host's wall clock plays no part.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'

const skewMs = 5_000
const roundingMs = 1_000 // more than the rounding of saved times

interface Options {
  readonly clock: Clock
  readonly log: Log
}

/** The time that an earlier run of the agent has saved; null: none. */
export interface SavedTime {
  readonly leastMs: number | null // the server's time at the save, so a lower bound of the time now
  readonly offsetMs: number | null // minus the monotonic clock; null: the host has booted since
}

/** The monotonic clock below is that of this process. */
export interface ServerTime {
  /** Returns the server's time when the monotonic clock shows `monotonicMs`. */
  at(monotonicMs: number): number
  /** Returns the server's time. It never decreases. */
  now(): number
  /** Returns false while `now` is only a lower bound: the server was not heard since the host booted. */
  isKnown(): boolean
  /** Returns the server's time minus the monotonic clock; null: not known. */
  offsetMs(): number | null
  /**
   * Corrects the time: the server's clock showed `serverMs` between `askedMs` and now on the monotonic clock. Returns
   * by how much the time has moved forward. After a correction backwards, `now` stays until the time has caught up.
   */
  correct(serverMs: number, askedMs: number): number
}

/** Continues from the saved time until it hears the server. Without a saved time it starts at the host's wall clock. */
export function openServerTime({ clock, log }: Options, saved: SavedTime): ServerTime {
  const leastMs = saved.leastMs ?? 0
  // The uptime of a container may restart below its earlier value.
  const isContinued = saved.offsetMs !== null && saved.offsetMs + clock.monotonic() + roundingMs >= leastMs
  let isHeard = saved.leastMs !== null
  let isKnown = isContinued
  let offsetMs = isContinued ? (saved.offsetMs ?? 0) : (saved.leastMs ?? clock.now()) - clock.monotonic()
  let reachedMs = leastMs
  let loggedSkewMs = 0

  const at = (monotonicMs: number): number => Math.floor(monotonicMs + offsetMs)
  const now = (): number => Math.max(reachedMs, at(clock.monotonic()))

  /** Logs if the host's wall clock differs from the server's, and again if the difference has changed. */
  function checkSkew(): void {
    const aheadMs = Math.round(clock.now() - clock.monotonic() - offsetMs)
    if (Math.abs(aheadMs - loggedSkewMs) <= skewMs) return
    loggedSkewMs = Math.abs(aheadMs) > skewMs ? aheadMs : 0
    if (loggedSkewMs === 0) return
    const skew_secs = Math.round(aheadMs / 1000) // above 0: ahead of the server
    const text = "the clock of this host differs from the server's, which is used; enable NTP on both"
    log.warn('clock.skew', text, { skew_secs })
  }

  return {
    at,
    now,
    isKnown: () => isKnown,
    offsetMs: () => (isKnown ? offsetMs : null),
    correct(serverMs, askedMs) {
      const before = now()
      if (isHeard) reachedMs = before
      isHeard = true
      isKnown = true
      offsetMs = Math.min(Math.max(offsetMs, serverMs - clock.monotonic()), serverMs - askedMs)
      checkSkew()
      return Math.max(0, now() - before)
    }
  }
}
