// The subject of a certificate, and the hosts of its SAN.
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

/** The subject of the certificates that the server makes. */
export const selfMadeName = 'CN=sluice'

/** True for a certificate that a server has made, and may replace. */
export function isSelfMade(pem: string): boolean {
  const { subject, issuer } = new X509Certificate(pem)
  return subject === selfMadeName && issuer === selfMadeName
}

/** True for a valid SAN: an address, or a DNS name, with or without a leading wildcard label. */
export const isSanName = (name: string): boolean =>
  isIP(name) !== 0 || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)

/** Returns the names and addresses of the SAN. */
export const hostsOf = (pem: string): string[] =>
  (new X509Certificate(pem).subjectAltName ?? '')
    .split(', ')
    .map(entry => entry.replace(/^(DNS|IP Address):/, ''))
    .filter(name => name !== '')
    .map(name => (isIP(name) === 6 ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name)) // ::1, not 0:0:0:0:0:0:0:1

/** Looks only at the SAN. A wildcard stands for the whole leftmost label. */
export function coversHost(pem: string, host: string): boolean {
  const certificate = new X509Certificate(pem)
  if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined
  return certificate.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined
}
