// The leaf that agents pin: made once and kept, or given by the operator. Never replaced by itself.
import 'reflect-metadata/lite' // before @peculiar/x509
import { createHash, createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { refuseReadable } from '../../kernel/base/config.ts'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'

export interface Certificate {
  readonly cert: string // PEM, the leaf first
  readonly key: string // PEM
  readonly fingerprint: string // SHA-256 of the leaf, 64 hex digits
}

/** What an operator says of the leaf. */
export interface Leaf {
  readonly certPath?: string
  readonly keyPath?: string
  /** Hosts that a self-made leaf covers, beside this machine's own. */
  readonly names?: readonly string[]
}

const validDays = 3650

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]) // only types differ

export async function openCertificate(dir: string, given: Leaf = {}): Promise<Certificate> {
  const { certPath, keyPath, names = [] } = given
  if (certPath !== undefined && keyPath !== undefined) return read(certPath, keyPath)
  if (certPath !== undefined || keyPath !== undefined)
    throw new Fault(tlsInvalid, 'tls_cert_path and tls_key_path belong together: give both, or none')
  const [ownCert, ownKey] = [join(dir, 'control.crt'), join(dir, 'control.key')]
  if (!existsSync(ownCert)) {
    const { cert, key } = await make(names)
    keep(ownKey, key) // the certificate last: where it lies, both do
    keep(ownCert, cert)
  }
  return read(ownCert, ownKey)
}

function read(certPath: string, keyPath: string): Certificate {
  try {
    refuseReadable(keyPath, 'a private key')
    const [cert, key] = [readFileSync(certPath, 'utf8'), readFileSync(keyPath, 'utf8')]
    const leaf = new X509Certificate(cert)
    if (!leaf.checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key belongs to another certificate')
    return { cert, key, fingerprint: createHash('sha256').update(leaf.raw).digest('hex') }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(tlsInvalid, `${certPath} and ${keyPath} must be a PEM certificate and its key: ${why}`, {
      cause
    })
  }
}

function keep(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}

async function make(names: readonly string[]): Promise<{ cert: string; key: string }> {
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

function hosts(names: readonly string[]): string[] {
  const own = Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))
  const all = ['localhost', '127.0.0.1', '::1', hostname(), ...own, ...names].map(name => name.toLowerCase())
  return [...new Set(all)].filter(name => isIP(name) || /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name))
}
