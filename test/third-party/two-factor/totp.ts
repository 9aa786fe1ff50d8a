// Time-based codes (RFC 6238): SHA-1, six digits, a new code every 30 s.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

const stepMs = 30_000
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map(part => letters[Number.parseInt(part.padEnd(5, '0'), 2)]).join('')
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map(letter => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const at = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export const stepOf = (ms: number): number => Math.floor(ms / stepMs)

/** Returns the step of a code that is valid now and later than `after`, or null. One step early or late is accepted. */
export function matchingStep(secret: string, code: string, now: number, after: number): number | null {
  const steps = [-1, 0, 1].map(drift => stepOf(now) + drift)
  const found = steps.filter(step => isSame(codeAt(secret, step), code) && step > after)
  return found[0] ?? null
}

/** Compares in constant time. */
const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(hash('sha256', a), 'hex'), Buffer.from(hash('sha256', b), 'hex'))

export const newSecret = (): string => toBase32(randomBytes(20))
export const newRecoveryCodes = (): string[] => Array.from({ length: 10 }, () => toBase32(randomBytes(10)))

/** A recovery code has 80 random bits, so a plain hash suffices. */
export const recoveryHash = (code: string): string =>
  hash('sha256', code.replaceAll(/[\s-]/g, '').toUpperCase())
