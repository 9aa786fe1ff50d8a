// A certificate on disk: read with its key, and saved atomically.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { requirePrivateFile } from '../../kernel/base/config.ts'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'

export interface Certificate {
  readonly cert: string // PEM, the server's own first
  readonly key: string // PEM
  readonly fingerprint: string // SHA-256 of the server's own, 64 hex digits
}

export interface CertificateFiles {
  readonly certPath: string
  readonly keyPath: string
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

export function readCertificate({ certPath, keyPath }: CertificateFiles): Certificate {
  try {
    requirePrivateFile(keyPath, 'a private key')
    const [text, key] = [readFileSync(certPath, 'utf8'), readFileSync(keyPath, 'utf8')]
    const cert = text.match(certificates)?.join('\n') ?? '' // without a key in the same file
    const own = new X509Certificate(cert)
    if (!own.checkPrivateKey(createPrivateKey(key))) throw new Error('the key belongs to another certificate')
    return { cert, key, fingerprint: fingerprintOf(own) }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(tlsInvalid, `${certPath} and ${keyPath} must be a PEM certificate and its key: ${why}`, {
      cause
    })
  }
}

export const fingerprintOf = ({ raw }: X509Certificate): string =>
  createHash('sha256').update(raw).digest('hex')

/** Saves certificate and key in one file, so that they change together. */
export function saveCertificate(file: string, { cert, key }: Omit<Certificate, 'fingerprint'>): void {
  writeFileSync(`${file}.new`, `${cert.trim()}\n${key.trim()}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
}

export function syncDir(dir: string): void {
  if (process.platform === 'win32') return // directories cannot be opened
  const fd = openSync(dir, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** Whether a SAN can hold it: an address, or a DNS name whose first label may be a wildcard. */
export const isSanName = (name: string): boolean =>
  isIP(name) !== 0 || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)
