import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { Failures } from '../entities.ts'
import type { RunningTime } from './running-time.ts'

const windowMs = 15 * 60_000
const maxWrong = 15

/**
 * Limits the wrong answers of one user from all addresses and browsers together. Guesses need the right password or a
 * session, so a stranger cannot lock out the user.
 */
export interface StepLimit {
  /** Counts an answer before it is judged, so that concurrent answers cannot exceed the limit. Throws `rate_limited`. */
  take(userId: string): Promise<void>
  /** Takes back the count of an answer that was right, or was not judged. */
  refund(userId: string): Promise<void>
  /** Deletes the count of a deleted user. */
  forget(em: EntityManager, userId: string): Promise<number>
}

interface Deps extends Pick<Kernel, 'store'> {
  readonly runningTime: RunningTime
}

export function openStepLimit({ store, runningTime: time }: Deps): StepLimit {
  async function timesOf(em: EntityManager, userId: string, now: number): Promise<readonly number[]> {
    const row = await em.findOne(Failures, { id: failureKey(userId) })
    return (row?.times ?? []).filter(at => at > now - windowMs)
  }

  const save = (em: EntityManager, userId: string, times: readonly number[], updatedAt: number) =>
    em.upsert(Failures, { id: failureKey(userId), times, locks: 0, lockedUntil: 0, updatedAt })

  return {
    take: userId =>
      store.change(async em => {
        const now = await time.now(em)
        const times = await timesOf(em, userId, now)
        const [first] = times
        if (first !== undefined && times.length >= maxWrong) throw refusalFor(first + windowMs - now)
        await save(em, userId, [...times, now], now)
      }),
    refund: userId =>
      store.change(async em => {
        const now = await time.now(em)
        await save(em, userId, (await timesOf(em, userId, now)).slice(0, -1), now)
      }),
    forget: (em, userId) => em.nativeDelete(Failures, { id: failureKey(userId) })
  }
}

function refusalFor(waitMs: number): Fault {
  const secs = Math.ceil(waitMs / 1000)
  return new Fault(rateLimited, `${maxWrong} wrong answers within 15 minutes; try again in ${secs} s`, {
    details: { retry_after_secs: secs }
  })
}

const failureKey = (userId: string): string => hashOf(JSON.stringify(['step', userId]))
