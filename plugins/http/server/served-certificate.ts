import type { X509Certificate } from 'node:crypto'
import type { ExpirySource } from '../change/notice-kind-slot.ts'

/** The certificate that new connections to the operator API get; null without TLS. A reload replaces it. */
export interface ServedCertificate {
  get(): X509Certificate | null
  set(certificate: X509Certificate | null): void
}

export function openServedCertificate(): ServedCertificate {
  let served: X509Certificate | null = null
  return {
    get: () => served,
    set(certificate) {
      served = certificate
    }
  }
}

/** Returns a source for the end of this certificate. */
export const certificateExpiry =
  ({ get }: Pick<ServedCertificate, 'get'>): ExpirySource =>
  async ({ from, to }) => {
    const certificate = get()
    const expiresAt = certificate?.validToDate.getTime() ?? 0
    if (certificate === null || expiresAt < from || expiresAt > to) return []
    const object = `certificate ${certificate.fingerprint256}`
    const name = 'the certificate of the operator API'
    return [{ object, name, owner: null, expiresAt, setAt: certificate.validFromDate.getTime() }]
  }
