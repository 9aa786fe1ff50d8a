import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import { networkOf } from '../../kernel/base/network.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Failures } from './entities.ts'
import type { RunningTime } from './running-time.ts'

export interface Attempt {
  readonly action: 'login' | 'onboarding' | 'password'
  readonly subject: string // as submitted
  readonly remoteAddr: string
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
const limits: readonly Limit[] = [callerLimit, addressLimit, subjectLimit]
const pacedLimits = limits.filter(({ lockMs }) => lockMs === null)

interface Deps extends Pick<Kernel, 'store'> {
  readonly runningTime: RunningTime
}

/** Refuses attempts at secrets after too many failures. The counts survive a restart. */
export interface Throttle {
  /** Throws `rate_limited` during a lockout. */
  check(attempt: Attempt): Promise<void>
  /** Checks only the lockout of the address, for an action that is not an attempt at a secret. */
  checkAddress(attempt: Attempt): Promise<void>
  /** Checks like `check`. If the subject is slowed, also uses its one attempt per second. */
  admit(attempt: Attempt): Promise<void>
  recordFailure(attempt: Attempt): Promise<void>
  /** Call it after the right secret: deletes the failures of this subject at this address in this action. */
  clear(attempt: Attempt): Promise<void>
  /** Deletes counts without a failure for a day; returns their number. */
  sweep(em: EntityManager): Promise<number>
}

export function openThrottle({ store, runningTime: time }: Deps, maxRows = 100_000): Throttle {
  async function refuseLocked(em: EntityManager, attempt: Attempt, by = limits): Promise<void> {
    const rows = await em.find(Failures, { id: by.map(limit => failureKey(limit, attempt)) })
    const now = await time.now(em)
    const waitMs = Math.max(...rows.map(row => lockEnd(row) - now), 0)
    if (waitMs === 0) return
    const secs = Math.ceil(waitMs / 1000)
    throw new Fault(rateLimited, `too many failed attempts; try again in ${secs} s`, {
      details: { retry_after_secs: secs }
    })
  }

  const check = (attempt: Attempt): Promise<void> => store.read(em => refuseLocked(em, attempt))

  const checkAddress = (attempt: Attempt): Promise<void> =>
    store.read(em => refuseLocked(em, attempt, [addressLimit]))

  async function admit(attempt: Attempt): Promise<void> {
    await store.change(async em => {
      await refuseLocked(em, attempt)
      const now = await time.now(em)
      for (const limit of pacedLimits) {
        const id = failureKey(limit, attempt)
        const row = await em.findOne(Failures, { id })
        if (row && recentFailures(row, limit, now).length >= limit.failures)
          await em.nativeUpdate(Failures, { id }, { lockedUntil: now + paceMs })
      }
    })
  }

  async function recordFailure(attempt: Attempt): Promise<void> {
    await store.change(async em => {
      const now = await time.now(em)
      for (const limit of limits) {
        const id = failureKey(limit, attempt)
        const row = await em.findOne(Failures, { id, updatedAt: { $gt: now - retentionMs } })
        await em.upsert(Failures, { id, ...addFailure(row, limit, now), updatedAt: now })
      }
      await deleteSurplus(em, maxRows)
    })
  }

  async function clear(attempt: Attempt): Promise<void> {
    const id = failureKey(callerLimit, attempt)
    const hasFailed = await store.read(em => em.count(Failures, { id }))
    if (hasFailed) await store.change(em => em.nativeDelete(Failures, { id }))
  }

  const sweep = async (em: EntityManager): Promise<number> =>
    em.nativeDelete(Failures, { updatedAt: { $lte: (await time.now(em)) - retentionMs } })

  return { check, checkAddress, admit, recordFailure, clear, sweep }
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
