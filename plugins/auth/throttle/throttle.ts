import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { Failures } from '../entities.ts'
import type { KnownAddresses } from './known-addresses.ts'
import type { RunningTime } from './running-time.ts'

export interface Attempt {
  readonly action: 'login' | 'onboarding' | 'password' | 'step'
  readonly subject: string // as submitted
  readonly remoteAddr: string
  readonly keyHash?: string | null // of the session key; a known one has separate attempts
}

/** Locks out or slows a key after `failures` failures within `windowMs`. */
interface Limit {
  readonly keyOf: (attempt: Attempt) => string
  readonly failures: number
  readonly windowMs: number
  /** Returns the length of a lockout after `locks` earlier ones; null: slow to one attempt per `paceMs`. */
  readonly lockMs: ((locks: number) => number) | null
}

const minuteMs = 60_000
const quarterHourMs = 15 * minuteMs
const retentionMs = 24 * 60 * minuteMs // resets a key without failures for this time
const paceMs = 1000

const callerLimit: Limit = {
  keyOf: ({ action, subject, remoteAddr }) => JSON.stringify(['pair', action, subject, remoteAddr]),
  failures: 5,
  windowMs: retentionMs,
  lockMs: locks => Math.min(minuteMs * 2 ** locks, quarterHourMs)
}
const addressLimit: Limit = {
  keyOf: ({ remoteAddr }) => JSON.stringify(['address', networkOf(remoteAddr)]),
  failures: 50,
  windowMs: quarterHourMs,
  lockMs: () => quarterHourMs
}
const subjectLimit: Limit = {
  keyOf: ({ subject }) => JSON.stringify(['subject', subject]),
  failures: 100,
  windowMs: quarterHourMs,
  lockMs: null // otherwise anyone could lock anyone out
}
/** Instead of the lockout of the address, for a subject that has signed in from it. Its failures count only here. */
const knownLimit: Limit = {
  ...callerLimit,
  keyOf: ({ action, subject, remoteAddr }) =>
    JSON.stringify(['known', action, subject, networkOf(remoteAddr)])
}
/** Instead of all others, for a browser that the subject has signed in with: nobody else has its key. */
const browserLimit: Limit = {
  ...callerLimit,
  keyOf: ({ action, subject, keyHash }) => JSON.stringify(['browser', action, subject, keyHash])
}
const limits: readonly Limit[] = [callerLimit, addressLimit, subjectLimit]
const pacedLimits = limits.filter(({ lockMs }) => lockMs === null)

interface Deps extends Pick<Kernel, 'store'> {
  readonly knownAddresses: Pick<KnownAddresses, 'has' | 'hasBrowser'>
  readonly runningTime: RunningTime
}

/** A lockout of the caller's address. */
export interface AddressLock {
  readonly isKnown: boolean // the subject has signed in from this address, and may try
  readonly refusal: Fault // for an unknown caller, and for a wrong secret of a known one
}

/** Refuses attempts at secrets after too many failures. The counts survive a restart. */
export interface Throttle {
  /** Returns the lockout of the address, if there is one. Throws `rate_limited` during other lockouts. */
  check(attempt: Attempt): Promise<AddressLock | null>
  /** Throws during a lockout of the address, unless the subject is known there: for an action that is no attempt. */
  checkAddress(attempt: Attempt): Promise<void>
  /** Checks like `check`. If the subject is slowed, also uses its one attempt per second. */
  admit(attempt: Attempt): Promise<AddressLock | null>
  /** `lock` is the result of `admit`. */
  recordFailure(attempt: Attempt, lock?: AddressLock | null): Promise<void>
  /** Call it after the right secret: deletes the failures of this subject at this address in this action. */
  clear(attempt: Attempt): Promise<void>
  /** Deletes counts without a failure for a day; returns their number. */
  sweep(em: EntityManager): Promise<number>
}

export function openThrottle(
  { store, runningTime: time, knownAddresses }: Deps,
  maxRows = 100_000
): Throttle {
  const judge = openJudge({ time, knownAddresses })

  const isKnownBrowser = (em: EntityManager, { subject, keyHash = null }: Attempt): Promise<boolean> =>
    knownAddresses.hasBrowser(em, subject, keyHash)

  const check = (attempt: Attempt): Promise<AddressLock | null> => store.read(em => judge(em, attempt))

  const checkAddress = (attempt: Attempt): Promise<void> =>
    store.read(async em => {
      const addressRow = await em.findOne(Failures, { id: failureKey(addressLimit, attempt) })
      const waitMs = addressRow ? lockEnd(addressRow) - (await time.now(em)) : 0
      if (await isKnownBrowser(em, attempt)) return
      if (waitMs > 0 && !(await knownAddresses.has(em, attempt.subject, attempt.remoteAddr)))
        throw refusalFor(waitMs)
    })

  function admit(attempt: Attempt): Promise<AddressLock | null> {
    return store.change(async em => {
      const lock = await judge(em, attempt)
      if (lock?.isKnown === false || (await isKnownBrowser(em, attempt))) return lock
      const now = await time.now(em)
      for (const limit of pacedLimits) {
        const id = failureKey(limit, attempt)
        const row = await em.findOne(Failures, { id })
        if (row && recentFailures(row, limit, now).length >= limit.failures)
          await em.nativeUpdate(Failures, { id }, { lockedUntil: now + paceMs })
      }
      return lock
    })
  }

  async function recordFailure(attempt: Attempt, lock: AddressLock | null = null): Promise<void> {
    await store.change(async em => {
      const now = await time.now(em)
      const isBrowser = await isKnownBrowser(em, attempt)
      const ofAddress = lock ? [knownLimit] : limits
      for (const limit of isBrowser ? [browserLimit] : ofAddress) {
        const id = failureKey(limit, attempt)
        const row = await em.findOne(Failures, { id, updatedAt: { $gt: now - retentionMs } })
        await em.upsert(Failures, { id, ...addFailure(row, limit, now), updatedAt: now })
      }
      await deleteSurplus(em, maxRows)
    })
  }

  async function clear(attempt: Attempt): Promise<void> {
    const id = [callerLimit, knownLimit, browserLimit].map(limit => failureKey(limit, attempt))
    const hasFailed = await store.read(em => em.count(Failures, { id }))
    if (hasFailed) await store.change(em => em.nativeDelete(Failures, { id }))
  }

  const sweep = async (em: EntityManager): Promise<number> =>
    em.nativeDelete(Failures, { updatedAt: { $lte: (await time.now(em)) - retentionMs } })

  return { check, checkAddress, admit, recordFailure, clear, sweep }
}

type JudgeDeps = Pick<Deps, 'knownAddresses'> & { readonly time: RunningTime }

/** Returns the function that finds the lockout of an address, and throws during other lockouts. */
function openJudge({ time, knownAddresses }: JudgeDeps) {
  return async (em: EntityManager, attempt: Attempt): Promise<AddressLock | null> => {
    const all = [...limits, knownLimit, browserLimit]
    const rows = await em.find(Failures, { id: all.map(one => failureKey(one, attempt)) })
    const now = await time.now(em)
    const waitMs = (...by: readonly Limit[]): number => {
      const ids = by.map(limit => failureKey(limit, attempt))
      return Math.max(...rows.filter(({ id }) => ids.includes(id)).map(row => lockEnd(row) - now), 0)
    }
    if (await knownAddresses.hasBrowser(em, attempt.subject, attempt.keyHash ?? null)) {
      const browserMs = waitMs(browserLimit)
      if (browserMs > 0) throw refusalFor(browserMs)
      return null
    }
    const ownMs = waitMs(callerLimit, subjectLimit)
    const addressMs = waitMs(addressLimit)
    if (addressMs > 0) {
      const mayTry = ownMs === 0 && waitMs(knownLimit) === 0
      const isKnown = mayTry && (await knownAddresses.has(em, attempt.subject, attempt.remoteAddr))
      return { isKnown, refusal: refusalFor(Math.max(ownMs, addressMs)) }
    }
    if (ownMs > 0) throw refusalFor(ownMs)
    return null
  }
}

function refusalFor(waitMs: number): Fault {
  const secs = Math.ceil(waitMs / 1000)
  return new Fault(rateLimited, `too many failed attempts; try again in ${secs} s`, {
    details: { retry_after_secs: secs }
  })
}

async function deleteSurplus(em: EntityManager, maxRows: number): Promise<void> {
  const surplus = (await em.count(Failures)) - maxRows
  if (surplus <= 0) return
  const oldestFirst = { updatedAt: 'asc' } as const
  const oldest = await em.find(Failures, {}, { orderBy: oldestFirst, limit: surplus, fields: ['id'] })
  await em.nativeDelete(Failures, { id: oldest.map(({ id }) => id) })
}

/** Limits a stored lockout to the length of a new one, whatever clock it was written under. */
const lockEnd = ({ lockedUntil, updatedAt }: Failures): number =>
  Math.min(lockedUntil, updatedAt + quarterHourMs)

const failureKey = ({ keyOf }: Limit, attempt: Attempt): string =>
  createHash('sha256').update(keyOf(attempt)).digest('hex')

const recentFailures = ({ times }: Failures, { windowMs }: Limit, now: number): readonly number[] =>
  times.filter(at => at > now - windowMs)

/** Returns the state of a key after one more failure. */
function addFailure(row: Failures | null, limit: Limit, now: number) {
  const { locks, lockedUntil } = row ?? { locks: 0, lockedUntil: 0 }
  const times = [...(row ? recentFailures(row, limit, now) : []), now]
  if (limit.lockMs === null) return { times: times.slice(-limit.failures), locks, lockedUntil }
  if (times.length < limit.failures) return { times, locks, lockedUntil }
  return { times: [], locks: locks + 1, lockedUntil: now + limit.lockMs(locks) }
}
