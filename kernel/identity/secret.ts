import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes as 43 base64url characters. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** Returns SHA-256 as hex. That suffices for a random secret of 256 bits; a password needs Argon2. */
export const hashOf = (secret: string): string => hash('sha256', secret)

/** Compares hashes in constant time. */
export const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** An API token. The prefix lets secret scanners find leaked ones. */
export const newToken = (): string => `svct_${newSecret()}`
