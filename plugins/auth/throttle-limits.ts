import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Failures } from './entities.ts'

export interface Attempt {
  readonly action: 'login' | 'onboarding' | 'password'
  readonly subject: string // as submitted
  readonly remoteAddr: string
}

/** How many failures within `windowMs` lock or slow one key. */
export interface Limit {
  readonly keyOf: (attempt: Attempt) => string
  readonly failures: number
  readonly windowMs: number
  /** How long the key is locked after `locks` earlier locks; null: slowed to one attempt in `paceMs`. */
  readonly lockMs: ((locks: number) => number) | null
}

const minuteMs = 60_000
const quarterHourMs = 15 * minuteMs
export const retentionMs = 24 * 60 * minuteMs // a key without failures for so long starts anew
export const paceMs = 1000

export const callerLimit: Limit = {
  keyOf: ({ action, subject, remoteAddr }) => JSON.stringify(['pair', action, subject, remoteAddr]),
  failures: 5,
  windowMs: retentionMs,
  lockMs: locks => Math.min(minuteMs * 2 ** locks, quarterHourMs)
}
export const addressLimit: Limit = {
  keyOf: ({ remoteAddr }) => JSON.stringify(['address', networkOf(remoteAddr)]),
  failures: 50,
  windowMs: quarterHourMs,
  lockMs: () => quarterHourMs
}
const subjectLimit: Limit = {
  keyOf: ({ subject }) => JSON.stringify(['subject', subject]),
  failures: 100,
  windowMs: quarterHourMs,
  lockMs: null // a lock would let anyone lock anyone out
}
export const limits: readonly Limit[] = [callerLimit, addressLimit, subjectLimit]
export const pacedLimits = limits.filter(({ lockMs }) => lockMs === null)

export const idOf = ({ keyOf }: Limit, attempt: Attempt): string =>
  createHash('sha256').update(keyOf(attempt)).digest('hex')

export const recentFailures = ({ times }: Failures, { windowMs }: Limit, now: number): readonly number[] =>
  times.filter(at => at > now - windowMs)

/** Returns the state of a key after one more failure. */
export function addFailure(row: Failures | null, limit: Limit, now: number) {
  const { locks, lockedUntil } = row ?? { locks: 0, lockedUntil: 0 }
  const times = [...(row ? recentFailures(row, limit, now) : []), now]
  if (limit.lockMs === null) return { times: times.slice(-limit.failures), locks, lockedUntil }
  if (times.length < limit.failures) return { times, locks, lockedUntil }
  return { times: [], locks: locks + 1, lockedUntil: now + limit.lockMs(locks) }
}

/** An IPv6 caller usually has a whole /64. A proxy may name its callers by something that is no address. */
function networkOf(remoteAddr: string): string {
  if (!ipaddr.isValid(remoteAddr)) return remoteAddr
  const address = ipaddr.process(remoteAddr)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  return address.parts.slice(0, 4).join(':')
}
