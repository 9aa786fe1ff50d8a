// Makes the self-signed certificate of an agent. Peers check nothing but its SHA-256, so it has no names or extensions.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A certificate and its key in PEM. */
export interface LinkCertificate {
  readonly cert: string
  readonly key: string
}

/** Makes a P-256 key and a certificate that is valid from `nowMs` on, without an end. */
export function makeLinkCertificate(nowMs: number): LinkCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const serial = Buffer.concat([Buffer.of(0x01), randomBytes(15)]) // positive
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.of(2))), // version 3
    tagged(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(time(nowMs), generalizedTime('99991231235959Z')), // RFC 5280: no end
    name,
    publicKey.export({ format: 'der', type: 'spki' })
  )
  const signature = sign('sha256', content, privateKey)
  const der = sequence(content, ecdsaWithSha256, tagged(0x03, Buffer.concat([Buffer.of(0), signature])))
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  }
}

/** SHA-256 of a certificate's DER encoding: 64 lower-case hex digits. */
export const pinOf = (der: Uint8Array): string => createHash('sha256').update(der).digest('hex')

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts))
const generalizedTime = (text: string): Buffer => tagged(0x18, Buffer.from(text))

/** RFC 5280: two digits of the year until 2049. */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return Number(text.slice(0, 4)) < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : generalizedTime(text)
}

const ecdsaWithSha256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'))
const commonName = sequence(Buffer.from('0603550403', 'hex'), tagged(0x0c, Buffer.from('sluice link')))
const name = sequence(tagged(0x31, commonName))
