import { isIPv4 } from 'node:net'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { coversHost } from '../certificate/exports.ts'

export const endpointInvalid = defineCode('endpoint_invalid', 422, 3)
export const endpointNotInCertSan = defineCode('endpoint_not_in_cert_san', 422, 3)
export const endpointErrors = [endpointInvalid, endpointNotInCertSan]

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** Returns why agents cannot use the endpoint; null if they can. `certificate` is the server's, in PEM. */
export function endpointFault(endpoint: string, certificate: string): Fault | null {
  const [, host = '', port = ''] = /^([^:]+):([1-9][0-9]{0,4})$/.exec(endpoint) ?? []
  if (!isHost(host) || Number(port) > 65535)
    return new Fault(
      endpointInvalid,
      `${JSON.stringify(endpoint)} must be host:port with a DNS name or an IPv4 address, without white space`
    )
  return coversHost(certificate, host)
    ? null
    : new Fault(
        endpointNotInCertSan,
        `the server certificate does not cover ${host}; use a host of its SAN, or replace it: sluice cert rotate --san ${host}`
      )
}

/** Returns the host of a valid endpoint. */
export const hostOf = (endpoint: string): string => endpoint.slice(0, endpoint.indexOf(':'))

function isHost(host: string): boolean {
  if (isIPv4(host)) return true
  const labels = host.split('.')
  return host.length <= 253 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? '')
}
