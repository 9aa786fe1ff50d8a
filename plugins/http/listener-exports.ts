// The part of this plugin that other HTTP servers, also those of the agent, may use. Nothing of the server is loaded with it.
export { boundConnections, receiveLimits } from './server/connection-bounds.ts'
export { type Answer, type Check, live, readinessOf } from './server/health.ts'
