// The certificate that agents pin: made once and kept, or configured by the operator. It never changes by itself.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import { syncDir } from '../../platform/sync-file.ts'

export interface Certificate {
  readonly cert: string // PEM, the server's own first
  readonly key: string // PEM
  readonly fingerprint: string // SHA-256 of the server's own, 64 hex digits
}

/** A certificate that nobody has examined yet. */
export type Pair = Omit<Certificate, 'fingerprint'>

export interface CertificateFiles {
  readonly certPath: string
  readonly keyPath?: string // default: the same file
}

/** The operator's settings of the certificate. */
export interface CertificateSettings extends Partial<CertificateFiles> {
  /** Hosts that a self-signed certificate covers besides this machine's own. */
  readonly names?: readonly string[]
}

export const ownFile = (dir: string): string => join(dir, 'control.pem')
/** The staged certificate, until `cert activate`. */
export const nextFile = (dir: string): string => join(dir, 'control.next.pem')

/** Returns the files of the operator's own certificate; null when none is configured. */
export function configuredFiles({ certPath, keyPath }: CertificateSettings): CertificateFiles | null {
  if (certPath !== undefined && keyPath !== undefined) return { certPath, keyPath }
  if (certPath === undefined && keyPath === undefined) return null
  throw new Fault(tlsInvalid, 'tls_cert_path and tls_key_path belong together: give both, or none')
}

/** Returns the certificate that a server with these settings would serve; null where none was made yet. */
export function currentCertificate(dir: string, settings: CertificateSettings): Certificate | null {
  const own = ownFile(dir)
  const files = configuredFiles(settings) ?? (existsSync(own) ? { certPath: own } : null)
  return files && readCertificate(files)
}

/** Returns the current certificate, and makes one where there is none. */
export async function openCertificate(dir: string, settings: CertificateSettings = {}): Promise<Certificate> {
  const current = currentCertificate(dir, settings)
  if (current) return current
  const { makeCertificate } = await import('./make-certificate.ts')
  return saveCertificate(ownFile(dir), await makeCertificate(settings.names ?? []))
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const privateKey = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/

export function readCertificate({ certPath, keyPath = certPath }: CertificateFiles): Certificate {
  try {
    requirePrivateFile(keyPath, 'a private key')
    const [text, keyText] = [readFileSync(certPath, 'utf8'), readFileSync(keyPath, 'utf8')] // both may be in one file
    const cert = text.match(certificates)?.join('\n') ?? ''
    return checkedCertificate({ cert, key: privateKey.exec(keyText)?.[0] ?? keyText })
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    const message = `${certPath} and ${keyPath} must be a PEM certificate and its key: ${why}`
    throw new Fault(tlsInvalid, message, { cause })
  }
}

/** Throws an error of TLS, or another, where they do not belong together. */
export function checkedCertificate({ cert, key }: Pair): Certificate {
  const own = new X509Certificate(cert)
  if (!own.checkPrivateKey(createPrivateKey(key))) throw new Error('the key belongs to another certificate')
  return { cert, key, fingerprint: fingerprintOf(own) }
}

export const fingerprintOf = ({ raw }: X509Certificate): string =>
  createHash('sha256').update(raw).digest('hex')

/** Saves certificate and key in one file, so that they change together, and reads them back. */
export function saveCertificate(file: string, { cert, key }: Pair): Certificate {
  writeFileSync(`${file}.new`, `${cert.trim()}\n${key.trim()}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
  return readCertificate({ certPath: file })
}
