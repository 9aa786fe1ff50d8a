// A certificate with its key: how it is read, checked, saved in one file, and put in its place after a crash.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, reasonOf, tlsInvalid } from '../../kernel/base/errors.ts'
import { syncDir } from '../../kernel/platform/sync-file.ts'

export interface Certificate {
  readonly cert: string // PEM, the leaf first
  readonly key: string // PEM
  readonly fingerprint: string // SHA-256 of the leaf, 64 hex digits
}

/** A certificate and a key that nobody has checked. */
export type Pair = Omit<Certificate, 'fingerprint'>

export interface CertificateFiles {
  readonly certPath: string
  readonly keyPath?: string // default: the same file
}

/** The operator's settings of the certificate. */
export interface CertificateSettings extends Partial<CertificateFiles> {
  /** Hosts that a self-signed certificate covers besides this machine's names and addresses. */
  readonly names?: readonly string[]
}

/** The server's own certificate, and the one that is staged until `cert activate`. */
export const names = ['own', 'next'] as const
export type Name = (typeof names)[number]

/** Fingerprints that the store names. */
export interface NamedCertificates {
  readonly leaf: string | null // pinned by agents
  readonly next: string | null // staged
}

const fileNames = { own: 'control.pem', next: 'control.next.pem' }
export const certificateFile = (name: Name, dir: string): string => join(dir, fileNames[name])

/** A restore writes this file first, and renames it when its store is in place. */
export const restoredFile = (file: string): string => `${file}.restored`

/** Returns the files of the operator's own certificate; null when none is configured. */
export function configuredFiles({ certPath, keyPath }: CertificateSettings): CertificateFiles | null {
  if (certPath !== undefined && keyPath !== undefined) return { certPath, keyPath }
  if (certPath === undefined && keyPath === undefined) return null
  throw new Fault(tlsInvalid, 'tls_cert_path and tls_key_path belong together: give both, or none')
}

/** Returns the certificate in files that a server with these settings would serve; null if there is none. */
export function currentCertificate(dir: string, settings: CertificateSettings): Certificate | null {
  const certPath = certificateFile('own', dir)
  const files = configuredFiles(settings) ?? (existsSync(certPath) ? { certPath } : null)
  return files && readCertificate(files)
}

/** Returns the current certificate in files, and makes one if there is none. */
export async function openCertificate(dir: string, settings: CertificateSettings = {}): Promise<Certificate> {
  const current = currentCertificate(dir, settings)
  if (current) return current
  const { makeCertificate } = await import('./make-certificate.ts')
  return saveCertificate(certificateFile('own', dir), await makeCertificate(settings.names ?? []))
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const privateKey = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/

/** Throws Fault unless the files have a certificate and its key, and only the owner can read the key. */
export function readCertificate({ certPath, keyPath = certPath }: CertificateFiles): Certificate {
  try {
    requirePrivateFile(keyPath, 'a private key')
    const text = readFileSync(certPath, 'utf8')
    const keyText = readFileSync(keyPath, 'utf8')
    const cert = text.match(certificates)?.join('\n') ?? ''
    return checkedCertificate({ cert, key: privateKey.exec(keyText)?.[0] ?? keyText })
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const message = `${certPath} and ${keyPath} must be a PEM certificate and its key: ${reasonOf(cause)}`
    throw new Fault(tlsInvalid, message, { cause })
  }
}

/** Throws a TLS error, or another one, unless the key belongs to the certificate, and TLS 1.3 accepts both. */
export function checkedCertificate({ cert, key }: Pair): Certificate {
  const leaf = new X509Certificate(cert)
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key belongs to another certificate')
  createSecureContext({ cert, key, minVersion: 'TLSv1.3' })
  return { cert, key, fingerprint: fingerprintOf(leaf) }
}

export const fingerprintOf = ({ raw }: X509Certificate): string =>
  createHash('sha256').update(raw).digest('hex')

/** Saves certificate and key in one file, so that they change together, and reads them back. */
export function saveCertificate(file: string, { cert, key }: Pair): Certificate {
  rmSync(`${file}.new`, { force: true })
  writeFileSync(`${file}.new`, `${cert.trim()}\n${key.trim()}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
  return readCertificate({ certPath: file })
}

export const hasCertificate = (certPath: string, fingerprint: string | null): boolean =>
  fingerprint !== null && existsSync(certPath) && readCertificate({ certPath }).fingerprint === fingerprint

/**
 * Moves the certificates that the store names to their files, if they are there, and removes other drafts. A change of
 * both is one commit of the store; the files follow, after a crash at the next start.
 */
export function settleFiles(dir: string, { leaf, next }: NamedCertificates): void {
  const own = certificateFile('own', dir)
  const staged = certificateFile('next', dir)
  const drafts = [restoredFile(own), restoredFile(staged)]
  const place = (file: string, wanted: string | null, sources: readonly string[]): void => {
    const source = [file, ...sources].find(candidate => hasCertificate(candidate, wanted))
    if (source !== undefined && source !== file) renameSync(source, file)
  }
  place(own, leaf, [staged, ...drafts])
  place(staged, next, drafts)
  for (const file of next === null ? [staged, ...drafts] : drafts) rmSync(file, { force: true })
  syncDir(dir)
}
