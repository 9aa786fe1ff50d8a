// Exports for other HTTP servers, including those of the agent. They load no server code.
export { boundConnections, receiveLimits } from './server/connection-bounds.ts'
export { type Answer, type Check, liveAnswer, toReadinessAnswer } from './server/health.ts'
