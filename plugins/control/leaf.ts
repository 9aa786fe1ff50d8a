// A leaf on the disk: read with its key, made by ourselves, kept whole or not at all.
import 'reflect-metadata/lite' // before @peculiar/x509
import { createHash, createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { dirname } from 'node:path'
import * as x509 from '@peculiar/x509'
import { refuseReadable } from '../../kernel/base/config.ts'
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

const validDays = 3650
const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]) // only types differ

export function readLeaf({ certPath, keyPath }: LeafFiles): Certificate {
  try {
    refuseReadable(keyPath, 'a private key')
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

/** `names` beside this machine's own. */
export async function makeLeaf(names: readonly string[]): Promise<Omit<Certificate, 'fingerprint'>> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `00${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`,
    name: 'CN=sluice',
    notBefore: new Date(Date.now() - 3_600_000), // for agents whose clock is behind
    notAfter: new Date(Date.now() + validDays * 86_400_000),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        hosts(names).map(value => ({ type: isIP(value) ? 'ip' : 'dns', value }))
      )
    ]
  })
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`
  return { cert: cert.toString('pem'), key }
}

/** What can stand in a SAN: an address, or a name of which the first label may be a wildcard. */
export const isName = (name: string): boolean =>
  isIP(name) !== 0 || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)

function hosts(names: readonly string[]): string[] {
  const own = Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))
  const all = ['localhost', '127.0.0.1', '::1', hostname(), ...own, ...names].map(name => name.toLowerCase())
  return [...new Set(all)].filter(isName)
}
