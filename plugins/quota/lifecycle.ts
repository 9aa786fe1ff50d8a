// What becomes of quotas without a caller: bytes are booked, users and clients go, the server starts.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { AfterCommit, CommittedBytes } from '../stats/exports.ts'
import type { Removed } from '../users/exports.ts'
import { objectKeyOf } from './delivery.ts'
import { Quota } from './entities.ts'
import { notifyLevels } from './levels.ts'
import type { keys } from './settings.ts'
import { rolledOver, withCommitted } from './usage.ts'

type Pair = Pick<Quota, 'userId' | 'clientId'>
type Services = Pick<Kernel<typeof keys>, 'config' | 'clock' | 'control' | 'log' | 'filled'>

export function openKeeping({ config, clock, control, log, filled }: Services) {
  /** In the ledger's transaction. */
  async function book(differences: readonly CommittedBytes[], em: EntityManager): Promise<AfterCommit[]> {
    const now = clock.now()
    const notices: AfterCommit[] = []
    for (const [clientId, ofClient] of Map.groupBy(differences, difference => difference.clientId)) {
      const byUser = Map.groupBy(ofClient, ({ owner }) => owner)
      const where = { clientId, userId: { $in: [...byUser.keys()] } }
      for (const known of await em.find(Quota, where, { disableIdentityMap: true })) {
        const { userId } = known
        const before = rolledOver(known, now)
        const booked = withCommitted(before, byUser.get(userId) ?? [], now)
        const after = await notifyLevels(booked, { nowMs: now, filled }, em)
        const { periodStart, used, credit, exhaustedAt, levelTold } = after
        const usage = { periodStart, used, credit, exhaustedAt, levelTold }
        await em.nativeUpdate(Quota, { userId, clientId }, usage)
        if (before.exhaustedAt == null && exhaustedAt != null)
          notices.push(() =>
            log.info('traffic_quota.exhausted', 'the month is spent', { user: userId, client: clientId })
          )
      }
    }
    return notices
  }

  /** Off the agent, too; false where there is none. */
  async function lift({ userId, clientId }: Pair, em: EntityManager): Promise<boolean> {
    if ((await em.nativeDelete(Quota, { userId, clientId })) === 0) return false
    await control.objects.drop(em, objectKeyOf({ userId, clientId }), 'cut')
    return true
  }

  async function forgetUser({ id: userId }: User, em: EntityManager): Promise<Removed> {
    const gone = await em.find(Quota, { userId })
    for (const quota of gone) await lift(quota, em)
    return { ids: [], afterCommit: () => gone.forEach(({ clientId }) => void control.objects.wake(clientId)) }
  }

  const forgetClient = async ({ id: clientId }: Client, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(Quota, { clientId }))

  /** Of users and clients that went while this plugin was off; and for agents that know another hold time. */
  async function start(em: EntityManager): Promise<void> {
    const { quota_hold_secs: holdSecs } = config
    const made = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const quota of await em.find(Quota, {}, { disableIdentityMap: true })) {
      const { userId, clientId } = quota
      const isHeir = (made.get(userId) ?? Number.POSITIVE_INFINITY) > quota.createdAt
      if (!clients.has(clientId)) await em.nativeDelete(Quota, { userId, clientId })
      else if (isHeir) await lift(quota, em)
      else if (quota.holdSecs !== holdSecs) {
        await em.nativeUpdate(Quota, { userId, clientId }, { holdSecs })
        await control.objects.put(em, objectKeyOf(quota))
      }
    }
  }

  return { book, lift, forgetUser, forgetClient, start }
}
