// The server's time as this agent knows it: an anchor on the monotonic clock. Our own wall time has no part in it.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'

const skewMs = 5_000

export type ServerTime = ReturnType<typeof openServerTime>

interface Options {
  readonly clock: Clock
  readonly log: Log
}

/**
 * `savedMs`: the server's time that an earlier run of the agent saved, so the least that it can be; null: the agent has
 * never heard it, and until then takes its own.
 */
export function openServerTime({ clock, log }: Options, savedMs: number | null) {
  let isHeard = savedMs !== null
  let offsetMs = (savedMs ?? clock.now()) - clock.monotonic() // server's time minus our monotonic clock
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
    /**
     * The server's clock showed `serverMs` between `askedMs` and now on our monotonic clock. Returns by how much the
     * time has moved forward; 0: not, or it stands still.
     */
    correct(serverMs: number, askedMs: number): number {
      const before = now()
      if (isHeard) reachedMs = before
      isHeard = true
      offsetMs = Math.min(Math.max(offsetMs, serverMs - clock.monotonic()), serverMs - askedMs)
      checkSkew()
      return Math.max(0, now() - before)
    }
  }
}
