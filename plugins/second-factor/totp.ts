// Time-based one-time passwords (RFC 6238): SHA-1, six digits, a new code every 30 s.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const stepMs = 30_000
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567' // RFC 4648

export function toBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, byte => byte.toString(2).padStart(8, '0')).join('')
  const parts = bits.match(/.{1,5}/g) ?? []
  return parts.map(part => letters[Number.parseInt(part.padEnd(5, '0'), 2)]).join('')
}

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, letter => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

/** Returns 160 random bits, as RFC 4226 recommends. */
export const newSecret = (): string => toBase32(randomBytes(20))

/** Returns the code of a time step. */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export const stepAt = (ms: number): number => Math.floor(ms / stepMs)

/** Returns the step of a code that is valid at `now`, one step early or late, and later than `after`; else null. */
export function matchingStep(
  secret: string,
  code: string,
  { now, after }: { readonly now: number; readonly after: number }
): number | null {
  const near = [-1, 0, 1].map(drift => stepAt(now) + drift).filter(step => step >= 0)
  const matches = near.filter(step => isSame(codeAt(secret, step), code)) // compares all, in constant time
  return matches.find(step => step > after) ?? null
}

const isSame = (expected: string, given: string): boolean =>
  given.length === expected.length &&
  /^\d+$/.test(given) &&
  timingSafeEqual(Buffer.from(expected), Buffer.from(given))

/** Returns the address that authenticator apps read from a QR code. */
export function otpauthUri(secret: string, account: string): string {
  const label = `sluice:${encodeURIComponent(account)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=sluice&algorithm=SHA1&digits=6&period=30`
}
