import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes as 43 base64url characters. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** What is kept of a secret with 256 bits of its own: SHA-256, hex. A password needs Argon2 instead. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** In constant time, also for different lengths: what is compared are hashes. */
export const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())

/** An API token: the prefix lets a scanner find one that leaked. */
export const newToken = (): string => `svct_${newSecret()}`
