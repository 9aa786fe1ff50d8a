// Within which time agents that are sent away come again, so that they do not come all at once.
const eachMs = 2.5 // a handshake, and what it asks of the store
const leastMs = 1_000
const mostMs = 30_000

/** `agents`: how many will come. In ms; each agent takes a random moment in it. */
export const returnWithinMs = (agents: number): number =>
  Math.round(Math.min(mostMs, Math.max(leastMs, agents * eachMs)))
