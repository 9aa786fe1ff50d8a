// The certificate that agents pin: made once and kept, or configured by the operator. It is never replaced by itself.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import {
  type Certificate,
  type CertificateFiles,
  readCertificate,
  saveCertificate
} from './certificate-file.ts'

/** The operator's settings of the certificate. */
export interface CertificateSettings {
  readonly certPath?: string
  readonly keyPath?: string
  /** Hosts that a self-made certificate covers, beside this machine's own. */
  readonly names?: readonly string[]
}

export const ownFile = (dir: string): string => join(dir, 'control.pem')
/** The staged certificate, until `cert activate`. */
export const nextFile = (dir: string): string => join(dir, 'control.next.pem')

/** Returns the operator's own certificate; null when none is configured. */
export function configuredFiles({ certPath, keyPath }: CertificateSettings): CertificateFiles | null {
  if (certPath !== undefined && keyPath !== undefined) return { certPath, keyPath }
  if (certPath === undefined && keyPath === undefined) return null
  throw new Fault(tlsInvalid, 'tls_cert_path and tls_key_path belong together: give both, or none')
}

export async function openCertificate(dir: string, settings: CertificateSettings = {}): Promise<Certificate> {
  const given = configuredFiles(settings)
  if (given) return readCertificate(given)
  const own = ownFile(dir)
  if (!existsSync(own)) {
    const { makeCertificate } = await import('./self-signed.ts')
    saveCertificate(own, await makeCertificate(settings.names ?? []))
  }
  return readCertificate({ certPath: own, keyPath: own })
}
