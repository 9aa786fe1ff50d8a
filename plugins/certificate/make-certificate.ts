// Makes self-signed certificates. Loaded only at the first start and at a rotation.
import { systemClock } from '../../kernel/base/clock.ts'
import 'reflect-metadata/lite' // before @peculiar/x509
import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import * as x509 from '@peculiar/x509'
import { isSanName, selfMadeName } from './certificate-names.ts'

const validDays = 3650

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]) // only types differ

/** Returns a certificate for `names` and for the names and addresses of this machine. */
export async function makeCertificate(names: readonly string[]) {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `00${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`,
    name: selfMadeName,
    notBefore: new Date(systemClock.now() - 3_600_000), // for agents with a late clock
    notAfter: new Date(systemClock.now() + validDays * 86_400_000),
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
  return [...new Set(all)].filter(isSanName)
}
