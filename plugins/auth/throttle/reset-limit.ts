import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { Failures } from '../entities.ts'
import type { RunningTime } from './running-time.ts'

const hourMs = 3_600_000
const maxPerHour = 10

/** Limits the password resets of a user, because each ends all sessions and costs a hash. */
export interface ResetLimit {
  /** Returns the times of the resets within the last hour, or throws `rate_limited`. */
  check(em: EntityManager, userId: string): Promise<readonly number[]>
  /** Counts a reset. Throws like `check`. */
  record(em: EntityManager, userId: string): Promise<void>
  /** Deletes the count of a deleted user. */
  forget(em: EntityManager, userId: string): Promise<number>
}

export function openResetLimit({ runningTime: time }: { readonly runningTime: RunningTime }): ResetLimit {
  async function check(em: EntityManager, userId: string): Promise<readonly number[]> {
    const row = await em.findOne(Failures, { id: failureKey(userId) })
    const now = await time.now(em)
    const times = (row?.times ?? []).filter(at => at > now - hourMs)
    const [first] = times
    if (first === undefined || times.length < maxPerHour) return times
    const secs = Math.ceil((first + hourMs - now) / 1000)
    throw new Fault(
      rateLimited,
      `${userId} was reset ${maxPerHour} times within an hour; try again in ${secs} s`,
      { details: { retry_after_secs: secs } }
    )
  }

  async function record(em: EntityManager, userId: string): Promise<void> {
    const now = await time.now(em)
    const times = [...(await check(em, userId)), now]
    const row = { id: failureKey(userId), times, locks: 0, lockedUntil: 0, updatedAt: now }
    await em.upsert(Failures, row)
  }

  const forget = (em: EntityManager, userId: string): Promise<number> =>
    em.nativeDelete(Failures, { id: failureKey(userId) })

  return { check, record, forget }
}

const failureKey = (userId: string): string => hashOf(JSON.stringify(['reset', userId]))
