// Exports for other listeners, including those of the agent. They load no server code.
export { type Listen, listensIn, overlap, requireDistinctListens } from './listen/listen-conflict.ts'
export { tryListen } from './listen/try-listen.ts'
export { boundConnections, receiveLimits } from './server/connection-bounds.ts'
export { type Answer, type Check, liveAnswer, toReadinessAnswer } from './server/health.ts'
export { type HostCheck, openHostCheck } from './server/host-check.ts'
