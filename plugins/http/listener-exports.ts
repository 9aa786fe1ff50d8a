// Exports for other HTTP servers, including those of the agent. They load nothing of the server.
export { boundConnections, receiveLimits } from './server/connection-bounds.ts'
export { type Answer, type Check, liveAnswer, toReadinessAnswer } from './server/health.ts'
