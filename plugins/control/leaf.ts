// A leaf on the disk: read with its key, kept whole or not at all.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { requirePrivateFile } from '../../kernel/base/config.ts'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'

export interface Certificate {
  readonly cert: string // PEM, the leaf first
  readonly key: string // PEM
  readonly fingerprint: string // SHA-256 of the leaf, 64 hex digits
}

export interface LeafFiles {
  readonly certPath: string
  readonly keyPath: string
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

export function readLeaf({ certPath, keyPath }: LeafFiles): Certificate {
  try {
    requirePrivateFile(keyPath, 'a private key')
    const [text, key] = [readFileSync(certPath, 'utf8'), readFileSync(keyPath, 'utf8')]
    const cert = text.match(certificates)?.join('\n') ?? '' // without a key that lies in the same file
    const leaf = new X509Certificate(cert)
    if (!leaf.checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key belongs to another certificate')
    return { cert, key, fingerprint: fingerprintOf(leaf) }
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

/** Certificate and key in one file: it changes as a whole. */
export function keepLeaf(file: string, { cert, key }: Omit<Certificate, 'fingerprint'>): void {
  writeFileSync(`${file}.new`, `${cert.trim()}\n${key.trim()}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
}

export function syncDir(dir: string): void {
  if (process.platform === 'win32') return // it opens no directory
  const fd = openSync(dir, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** What can stand in a SAN: an address, or a name of which the first label may be a wildcard. */
export const isName = (name: string): boolean =>
  isIP(name) !== 0 || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)
