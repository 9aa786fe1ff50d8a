import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import ipaddr from 'ipaddr.js'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Failures } from './entities.ts'

export interface Attempt {
  readonly action: 'login' | 'onboarding' | 'password'
  readonly subject: string // as submitted
  readonly remoteAddr: string
}

/** What failures under one key lead to. */
interface Limit {
  readonly keyOf: (attempt: Attempt) => string
  readonly failures: number
  readonly windowMs: number
  /** How long the key is locked after `locks` locks before; null: only one attempt in `paceMs`. */
  readonly lockMs: ((locks: number) => number) | null
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const quarterMs = 15 * minuteMs
const quietMs = 24 * 60 * minuteMs // after which a key starts anew
const paceMs = secondMs

const pair: Limit = {
  keyOf: ({ action, subject, remoteAddr }) => JSON.stringify(['pair', action, subject, remoteAddr]),
  failures: 5,
  windowMs: quietMs,
  lockMs: locks => Math.min(minuteMs * 2 ** locks, quarterMs)
}
const network: Limit = {
  keyOf: ({ remoteAddr }) => JSON.stringify(['address', networkOf(remoteAddr)]),
  failures: 50,
  windowMs: quarterMs,
  lockMs: () => quarterMs
}
const limits: readonly Limit[] = [
  pair,
  network,
  {
    keyOf: ({ subject }) => JSON.stringify(['subject', subject]),
    failures: 100,
    windowMs: quarterMs,
    lockMs: null // else anyone could lock anyone out
  }
]

export type Throttle = ReturnType<typeof openThrottle>

export function openThrottle({ store, clock }: Pick<Kernel, 'store' | 'clock'>, rowsMax = 100_000) {
  async function refuseLocked(em: EntityManager, attempt: Attempt, by = limits): Promise<void> {
    const rows = await em.find(Failures, { id: by.map(limit => idOf(limit, attempt)) })
    const waitMs = Math.max(...rows.map(({ lockedUntil }) => lockedUntil - clock.now()), 0)
    if (waitMs === 0) return
    const secs = Math.ceil(waitMs / secondMs)
    throw new Fault(rateLimited, `too many failed attempts; try again in ${secs} s`, {
      details: { retry_after_secs: secs }
    })
  }

  const look = (attempt: Attempt): Promise<void> => store.read(em => refuseLocked(em, attempt))

  /** For what is no guess at a secret: only the address may be locked, by what it guessed elsewhere. */
  const lookAt = (attempt: Attempt): Promise<void> => store.read(em => refuseLocked(em, attempt, [network]))

  /** Like `look`, and takes the one place a second of a subject that many addresses try. */
  async function enter(attempt: Attempt): Promise<void> {
    await store.change(async em => {
      await refuseLocked(em, attempt)
      for (const limit of limits.filter(({ lockMs }) => lockMs === null)) {
        const id = idOf(limit, attempt)
        const row = await em.findOne(Failures, { id })
        if (row && recent(row, limit, clock.now()).length >= limit.failures)
          await em.nativeUpdate(Failures, { id }, { lockedUntil: clock.now() + paceMs })
      }
    })
  }

  async function fail(attempt: Attempt): Promise<void> {
    const now = clock.now()
    await store.change(async em => {
      for (const limit of limits) {
        const id = idOf(limit, attempt)
        const row = await em.findOne(Failures, { id, updatedAt: { $gt: now - quietMs } })
        await em.upsert(Failures, { id, ...failed(row, limit, now), updatedAt: now })
      }
      await keepBounds(em)
    })
  }

  /** The right secret: what this caller got wrong before no longer counts against it. */
  async function forgive(attempt: Attempt): Promise<void> {
    const id = idOf(pair, attempt)
    const isKnown = await store.read(em => em.count(Failures, { id }))
    if (isKnown) await store.change(em => em.nativeDelete(Failures, { id }))
  }

  async function keepBounds(em: EntityManager): Promise<void> {
    const excess = (await em.count(Failures)) - rowsMax
    if (excess <= 0) return
    const oldest = await em.find(
      Failures,
      {},
      { orderBy: { updatedAt: 'asc' }, limit: excess, fields: ['id'] }
    )
    await em.nativeDelete(Failures, { id: oldest.map(({ id }) => id) })
  }

  const sweep = (em: EntityManager): Promise<number> =>
    em.nativeDelete(Failures, { updatedAt: { $lte: clock.now() - quietMs } })

  return { look, lookAt, enter, fail, forgive, sweep }
}

const recent = ({ times }: Failures, { windowMs }: Limit, now: number): readonly number[] =>
  times.filter(at => at > now - windowMs)

function failed(row: Failures | null, limit: Limit, now: number) {
  const { locks, lockedUntil } = row ?? { locks: 0, lockedUntil: 0 }
  const times = [...(row ? recent(row, limit, now) : []), now]
  if (limit.lockMs === null) return { times: times.slice(-limit.failures), locks, lockedUntil }
  if (times.length < limit.failures) return { times, locks, lockedUntil }
  return { times: [], locks: locks + 1, lockedUntil: now + limit.lockMs(locks) }
}

const idOf = ({ keyOf }: Limit, attempt: Attempt): string =>
  createHash('sha256').update(keyOf(attempt)).digest('hex')

/** An IPv6 caller owns its whole /64. What a proxy calls its callers need not be an address. */
function networkOf(remoteAddr: string): string {
  if (!ipaddr.isValid(remoteAddr)) return remoteAddr
  const address = ipaddr.process(remoteAddr)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  return address.parts.slice(0, 4).join(':')
}
