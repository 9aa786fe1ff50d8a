import { X509Certificate } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { defineCode, Fault } from '../../kernel/base/errors.ts'

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
      `${JSON.stringify(endpoint)} must be host:port with a DNS name or an IPv4 address`
    )
  return isCovered(host, new X509Certificate(certificate))
    ? null
    : new Fault(
        endpointNotInCertSan,
        `the server certificate does not cover ${host}; use a host of its SAN, or stop the server and reissue the certificate: ` +
          `sluice cert reissue --san ${host}. If clients are enrolled, add --rotate, start the server, and when all ` +
          'are connected, stop it and run sluice cert activate'
      )
}

function isHost(host: string): boolean {
  if (isIPv4(host)) return true
  const labels = host.split('.')
  return host.length <= 253 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

/** Checks only the SAN. A wildcard stands for the whole leftmost label. */
function isCovered(host: string, certificate: X509Certificate): boolean {
  if (isIPv4(host)) return certificate.checkIP(host) !== undefined
  return certificate.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined
}
