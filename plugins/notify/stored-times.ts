// Times in the store are of the wall clock. While it is set forward, times far ahead are stored, and stay after it is set back.

const skewMs = 60_000 // between the clocks of servers that share a store

/**
 * Returns conditions on a stored time; it is due if one holds. It has come, or it is further ahead than `maxMs`, the furthest
 * that it is ever set, because the clock was set back.
 */
export const whenDue = (now: number, maxMs: number) => [{ $lte: now }, { $gt: now + maxMs + skewMs }]

/** Returns the condition on a stored time that is not due; see `whenDue`. */
export const whenAhead = (now: number, maxMs: number) => ({ $gt: now, $lte: now + maxMs + skewMs })

/** True for a stored time that is not due; see `whenDue`. */
export const isAhead = (at: number, now: number, maxMs: number): boolean =>
  at > now && at <= now + maxMs + skewMs
