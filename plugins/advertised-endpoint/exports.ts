// The parts of advertised-endpoint that other plugins may use.
export type { Endpoint } from './endpoint.ts'
export { endpointErrors, endpointFault } from './endpoint-fault.ts'
