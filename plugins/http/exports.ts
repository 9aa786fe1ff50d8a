// The service `act`, streams, the record of decisions, and the bounds on connections for other HTTP servers.
export type { Act, ActCall } from './act.ts'
export { type Assets, openAssets } from './assets.ts'
export { boundConnections, receiveLimits } from './connections.ts'
export { type Decision, type DecisionSink, decisionSlot } from './decision.ts'
export { FormFile } from './forms.ts'
export { Html, html, page } from './html.ts'
export { openNetworks } from './networks.ts'
export { defineStream, type ServerEvent } from './stream-route.ts'
