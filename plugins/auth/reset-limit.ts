import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { Failures } from './entities.ts'
import type { RunningTime } from './running-time.ts'

const hourMs = 3_600_000
const maxPerHour = 10

export type ResetLimit = ReturnType<typeof openResetLimit>

/** Limits the password resets of one user: each ends all sessions and costs a hash. */
export function openResetLimit({ runningTime: time }: { readonly runningTime: RunningTime }) {
  /** Returns the times of the resets within the last hour, or throws `rate_limited`. */
  async function check(em: EntityManager, userId: string): Promise<readonly number[]> {
    const row = await em.findOne(Failures, { id: rowId(userId) })
    const now = await time.now(em)
    const times = (row?.times ?? []).filter(at => at > now - hourMs)
    const [first] = times
    if (first === undefined || times.length < maxPerHour) return times
    const secs = Math.ceil((first + hourMs - now) / 1000)
    throw new Fault(rateLimited, `${maxPerHour} resets of ${userId} in an hour; try again in ${secs} s`, {
      details: { retry_after_secs: secs }
    })
  }

  async function record(em: EntityManager, userId: string): Promise<void> {
    const now = await time.now(em)
    const times = [...(await check(em, userId)), now]
    const row = { id: rowId(userId), times, locks: 0, lockedUntil: 0, updatedAt: now }
    await em.upsert(Failures, row)
  }

  const forget = (em: EntityManager, userId: string): Promise<number> =>
    em.nativeDelete(Failures, { id: rowId(userId) })

  return { check, record, forget }
}

const rowId = (userId: string): string => hashOf(JSON.stringify(['reset', userId]))
