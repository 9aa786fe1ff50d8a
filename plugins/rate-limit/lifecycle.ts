// Deletes envelopes with their owner or client. At start, deletes envelopes of owners and clients that were deleted while the
// plugin was disabled.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { AfterCommit, Rules } from '../rules/exports.ts'
import type { Removed } from '../users/exports.ts'
import { envelopeKey } from './delivery.ts'
import { Envelope } from './entities.ts'
import { envelopeJournalEntry } from './envelope-journal-entry.ts'

type Pair = Pick<Envelope, 'clientId' | 'ownerId'>

interface Services extends Pick<Kernel, 'control'> {
  readonly rules: Rules
}

export interface Lifecycle {
  /** Deletes an envelope here and on the agent, after its rules no longer require it. Returns null if there is none. */
  remove(envelope: Pair, em: EntityManager): Promise<AfterCommit | null>
  userRemoved(user: User, em: EntityManager): Promise<Removed>
  clientRemoved(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
  /** Deletes the envelopes of deleted owners and clients. */
  reconcile(em: EntityManager): Promise<void>
}

export function openLifecycle({ control, rules }: Services): Lifecycle {
  async function remove({ clientId, ownerId }: Pair, em: EntityManager): Promise<AfterCommit | null> {
    const found = await em.findOne(Envelope, { clientId, ownerId })
    if (!found) return null
    await em.nativeDelete(Envelope, { clientId, ownerId })
    await rules.addJournalEntry(envelopeJournalEntry(found, found.limits, null), em)
    const refreshed = await rules.refresh({ clientId, owner: ownerId }, em)
    await control.objects.drop(em, envelopeKey({ clientId, ownerId }), 'cut')
    return refreshed
  }

  async function userRemoved({ id: ownerId }: User, em: EntityManager): Promise<Removed> {
    const envelopes = await em.find(Envelope, { ownerId })
    for (const envelope of envelopes) await remove(envelope, em)
    const wake = () => envelopes.forEach(({ clientId }) => void control.objects.wake(clientId))
    return { ids: [], afterCommit: wake }
  }

  const clientRemoved = async ({ id: clientId }: Pick<Client, 'id'>, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(Envelope, { clientId }))

  async function reconcile(em: EntityManager): Promise<void> {
    const usersSince = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const envelope of await em.find(Envelope, {})) {
      const { clientId, ownerId, createdAt } = envelope
      // A user created after the envelope reuses the id of a deleted user.
      const since = ownerId === operatorId ? 0 : (usersSince.get(ownerId) ?? Number.POSITIVE_INFINITY)
      if (!clients.has(clientId)) await em.nativeDelete(Envelope, { clientId, ownerId })
      else if (since > createdAt) await remove(envelope, em)
    }
  }

  return { remove, userRemoved, clientRemoved, reconcile }
}
