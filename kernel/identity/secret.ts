import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes as 43 base64url characters. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** SHA-256, hex: enough for a random secret of 256 bits. A password needs Argon2. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Compares hashes in constant time, so that lengths may differ. */
export const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())

/** An API token. The prefix lets secret scanners find leaked ones. */
export const newToken = (): string => `svct_${newSecret()}`
