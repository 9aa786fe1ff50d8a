import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { coversHost, endpointForm, isEndpoint } from '../certificate/exports.ts'

export const endpointInvalid = defineCode('endpoint_invalid', 422, 3)
export const endpointNotInCertSan = defineCode('endpoint_not_in_cert_san', 422, 3)
export const endpointErrors = [endpointInvalid, endpointNotInCertSan]

/** Returns why agents cannot use the endpoint; null if they can. `certificate` is the server's, in PEM. */
export function endpointFault(endpoint: string, certificate: string): Fault | null {
  if (!isEndpoint(endpoint)) return new Fault(endpointInvalid, `${JSON.stringify(endpoint)} ${endpointForm}`)
  const host = hostOf(endpoint)
  return coversHost(certificate, host)
    ? null
    : new Fault(
        endpointNotInCertSan,
        `the server certificate does not cover ${host}; use a host of its SAN, or replace it: sluice cert rotate --san ${host}`
      )
}

/** Returns the host of a valid endpoint. */
export const hostOf = (endpoint: string): string => endpoint.slice(0, endpoint.indexOf(':'))
