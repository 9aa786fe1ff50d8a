// The server's time as this agent knows it: an anchor on the monotonic clock. Our own wall time has no part in it.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'

const skewMs = 5_000
const roundedMs = 1_000 // more than what saved times are rounded by

export type ServerTime = ReturnType<typeof openServerTime>

interface Options {
  readonly clock: Clock
  readonly log: Log
}

/** What an earlier run of the agent has saved; null: nothing. */
export interface SavedTime {
  readonly leastMs: number | null // the server's time then, so the least that it can be
  readonly offsetMs: number | null // that minus our monotonic clock, if the host has not been started since
}

/** Until it hears the server it goes on from what was saved; without that it takes our own time. */
export function openServerTime({ clock, log }: Options, saved: SavedTime) {
  const savedMs = saved.leastMs
  // A host's time that is behind what it was has begun anew, as that of a container may.
  const goesOn = saved.offsetMs !== null && saved.offsetMs + clock.monotonic() + roundedMs >= (savedMs ?? 0)
  let isHeard = savedMs !== null
  let isKnown = goesOn
  // The server's time minus our monotonic clock:
  let offsetMs = goesOn ? (saved.offsetMs ?? 0) : (savedMs ?? clock.now()) - clock.monotonic()
  let reachedMs = savedMs ?? 0 // a correction back makes the time stand still here
  let loggedSkewMs = 0

  /** The server's time when our monotonic clock shows `monotonicMs`. */
  const at = (monotonicMs: number): number => Math.floor(monotonicMs + offsetMs)
  const now = (): number => Math.max(reachedMs, at(clock.monotonic()))

  /** Logs when our wall clock differs from the server's, and again when the difference has changed. */
  function checkSkew(): void {
    const aheadMs = Math.round(clock.now() - clock.monotonic() - offsetMs)
    if (Math.abs(aheadMs - loggedSkewMs) <= skewMs) return
    loggedSkewMs = Math.abs(aheadMs) > skewMs ? aheadMs : 0
    if (loggedSkewMs === 0) return
    const skew_secs = Math.round(aheadMs / 1000) // above 0: ahead of the server
    log.warn(
      'clock.skew',
      'the clock of this host differs from that of the server, which is used; enable NTP on both',
      {
        skew_secs
      }
    )
  }

  return {
    at,
    now,
    /** False while only the least that the time can be is known: no server was heard since the host's start. */
    isKnown: () => isKnown,
    /** The server's time minus our monotonic clock; null: not known. */
    offsetMs: () => (isKnown ? offsetMs : null),
    /**
     * The server's clock showed `serverMs` between `askedMs` and now on our monotonic clock. Returns by how much the
     * time has moved forward; 0: not, or it stands still.
     */
    correct(serverMs: number, askedMs: number): number {
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
