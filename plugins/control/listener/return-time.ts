// Spreads the return of disconnected agents over time.
const eachMs = 2.5 // for a handshake with its work in the store
const leastMs = 1_000
const mostMs = 30_000

/** Returns a time in ms for this number of agents. Each agent returns at a random moment in it. */
export const returnWithinMs = (agents: number): number =>
  Math.round(Math.min(mostMs, Math.max(leastMs, agents * eachMs)))
