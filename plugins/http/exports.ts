// The bounds on connections, for other HTTP servers.
export { boundConnections, receiveLimits } from './connections.ts'
