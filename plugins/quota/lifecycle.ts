// Deletes quotas with their user or client. At start, deletes quotas of users and clients deleted while this plugin was off.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { AfterCommit, Rules } from '../rules/exports.ts'
import type { Removed } from '../users/exports.ts'
import { objectKey } from './delivery.ts'
import { Quota } from './entities.ts'
import { recordExhaustion } from './record-exhaustion.ts'
import type { keys } from './settings.ts'

type Pair = Pick<Quota, 'userId' | 'clientId'>

interface Services extends Pick<Kernel<typeof keys>, 'config' | 'control'> {
  readonly rules: Rules
}

export interface Lifecycle {
  /** Deletes a quota and removes it from the agent once its rules no longer require it. Returns null if there is none. */
  remove(pair: Pair, em: EntityManager): Promise<AfterCommit | null>
  userRemoved(user: User, em: EntityManager): Promise<Removed>
  clientRemoved(client: Client, em: EntityManager): Promise<void>
  /** Deletes quotas without user or client, and pushes the others again if the hold time has changed. */
  reconcile(em: EntityManager): Promise<void>
}

export function openLifecycle({ config, control, rules }: Services): Lifecycle {
  async function remove({ userId, clientId }: Pair, em: EntityManager): Promise<AfterCommit | null> {
    const found = await em.findOne(Quota, { userId, clientId })
    if (!found) return null
    await em.nativeDelete(Quota, { userId, clientId })
    await recordExhaustion(found, null, { rules, em })
    const refreshed = await rules.refresh({ clientId, owner: userId }, em)
    await control.objects.drop(em, objectKey({ userId, clientId }), 'cut')
    return refreshed
  }

  async function userRemoved({ id: userId }: User, em: EntityManager): Promise<Removed> {
    const quotas = await em.find(Quota, { userId })
    for (const quota of quotas) await remove(quota, em)
    const wake = () => quotas.forEach(({ clientId }) => void control.objects.wake(clientId))
    return { ids: [], afterCommit: wake }
  }

  const clientRemoved = async ({ id: clientId }: Client, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(Quota, { clientId }))

  async function reconcile(em: EntityManager): Promise<void> {
    const { quota_hold_secs: holdSecs } = config
    const usersSince = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const quota of await em.find(Quota, {})) {
      const { userId, clientId } = quota
      // A user created after the quota reuses the id of a deleted user.
      const isOrphan = (usersSince.get(userId) ?? Number.POSITIVE_INFINITY) > quota.createdAt
      if (!clients.has(clientId)) await em.nativeDelete(Quota, { userId, clientId })
      else if (isOrphan) await remove(quota, em)
      else if (quota.holdSecs !== holdSecs) {
        await em.nativeUpdate(Quota, { userId, clientId }, { holdSecs })
        await control.objects.put(em, objectKey(quota))
      }
    }
  }

  return { remove, userRemoved, clientRemoved, reconcile }
}
