import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Failures } from './entities.ts'
import {
  type Attempt,
  addFailure,
  addressLimit,
  callerLimit,
  idOf,
  limits,
  pacedLimits,
  paceMs,
  recentFailures,
  retentionMs
} from './throttle-limits.ts'

export type { Attempt } from './throttle-limits.ts'

export type Throttle = ReturnType<typeof openThrottle>

/** Refuses attempts at secrets after too many failures; see throttle-limits.ts. The state outlives a restart. */
export function openThrottle({ store, clock }: Pick<Kernel, 'store' | 'clock'>, maxRows = 100_000) {
  async function refuseLocked(em: EntityManager, attempt: Attempt, by = limits): Promise<void> {
    const rows = await em.find(Failures, { id: by.map(limit => idOf(limit, attempt)) })
    const waitMs = Math.max(...rows.map(({ lockedUntil }) => lockedUntil - clock.now()), 0)
    if (waitMs === 0) return
    const secs = Math.ceil(waitMs / 1000)
    throw new Fault(rateLimited, `too many failed attempts; try again in ${secs} s`, {
      details: { retry_after_secs: secs }
    })
  }

  const check = (attempt: Attempt): Promise<void> => store.read(em => refuseLocked(em, attempt))

  /** For an action that is no attempt at a secret: only the lock of the address counts. */
  const checkAddress = (attempt: Attempt): Promise<void> =>
    store.read(em => refuseLocked(em, attempt, [addressLimit]))

  /** Like `check`; if the subject is slowed, also takes its one attempt in `paceMs`. */
  async function admit(attempt: Attempt): Promise<void> {
    await store.change(async em => {
      await refuseLocked(em, attempt)
      for (const limit of pacedLimits) {
        const id = idOf(limit, attempt)
        const row = await em.findOne(Failures, { id })
        if (row && recentFailures(row, limit, clock.now()).length >= limit.failures)
          await em.nativeUpdate(Failures, { id }, { lockedUntil: clock.now() + paceMs })
      }
    })
  }

  async function recordFailure(attempt: Attempt): Promise<void> {
    const now = clock.now()
    await store.change(async em => {
      for (const limit of limits) {
        const id = idOf(limit, attempt)
        const row = await em.findOne(Failures, { id, updatedAt: { $gt: now - retentionMs } })
        await em.upsert(Failures, { id, ...addFailure(row, limit, now), updatedAt: now })
      }
      await deleteSurplus(em, maxRows)
    })
  }

  /** After the right secret: forgets the failures of this subject at this address. */
  async function clear(attempt: Attempt): Promise<void> {
    const id = idOf(callerLimit, attempt)
    const hasFailed = await store.read(em => em.count(Failures, { id }))
    if (hasFailed) await store.change(em => em.nativeDelete(Failures, { id }))
  }

  const sweep = (em: EntityManager): Promise<number> =>
    em.nativeDelete(Failures, { updatedAt: { $lte: clock.now() - retentionMs } })

  return { check, checkAddress, admit, recordFailure, clear, sweep }
}

async function deleteSurplus(em: EntityManager, maxRows: number): Promise<void> {
  const surplus = (await em.count(Failures)) - maxRows
  if (surplus <= 0) return
  const oldestFirst = { updatedAt: 'asc' } as const
  const oldest = await em.find(Failures, {}, { orderBy: oldestFirst, limit: surplus, fields: ['id'] })
  await em.nativeDelete(Failures, { id: oldest.map(({ id }) => id) })
}
