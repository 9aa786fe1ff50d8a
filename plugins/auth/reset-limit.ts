import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Failures } from './entities.ts'

const hourMs = 3_600_000
const anHour = 10

/** So often is a user's password reset: each ends all sessions, and costs a hash. */
export function openResetLimit({ clock }: Pick<Kernel, 'clock'>) {
  async function recent(em: EntityManager, userId: string): Promise<readonly number[]> {
    const row = await em.findOne(Failures, { id: idOf(userId) })
    return (row?.times ?? []).filter(at => at > clock.now() - hourMs)
  }

  async function look(em: EntityManager, userId: string): Promise<readonly number[]> {
    const times = await recent(em, userId)
    const [first] = times
    if (first === undefined || times.length < anHour) return times
    const secs = Math.ceil((first + hourMs - clock.now()) / 1000)
    throw new Fault(rateLimited, `${userId} has been reset ${anHour} times in an hour; again in ${secs} s`, {
      details: { retry_after_secs: secs }
    })
  }

  async function take(em: EntityManager, userId: string): Promise<void> {
    const times = [...(await look(em, userId)), clock.now()]
    const row = { id: idOf(userId), times, locks: 0, lockedUntil: 0, updatedAt: clock.now() }
    await em.upsert(Failures, row)
  }

  const forget = (em: EntityManager, userId: string): Promise<number> =>
    em.nativeDelete(Failures, { id: idOf(userId) })

  return { look, take, forget }
}
export type ResetLimit = ReturnType<typeof openResetLimit>

const idOf = (userId: string): string => hashOf(JSON.stringify(['reset', userId]))
