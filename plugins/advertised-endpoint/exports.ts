// What other plugins may use of advertised-endpoint.
export type { Endpoint } from './endpoint.ts'
export { endpointErrors, endpointFault } from './endpoint-fault.ts'
