// Sends owner envelopes to agents.
import { defineObjectKind, type ObjectKey, type ObjectKind } from '../../kernel/control/managed-objects.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Envelope } from './entities.ts'
import { encodeLimits } from './limits.ts'
import { capability, EnvelopeRemove, EnvelopeSet, envelopeKind } from './wire.ts'

export const envelopeKey = ({
  clientId,
  ownerId: id
}: Pick<Envelope, 'clientId' | 'ownerId'>): ObjectKey => ({
  clientId,
  kind: envelopeKind,
  id
})

export interface EnvelopeDelivery {
  readonly kind: ObjectKind
  /** Marks the envelopes of an agent that joins without the capability as not enforced. */
  readonly connection: ConnectionHooks
}

export function openDelivery({ store, log }: Pick<Kernel, 'store' | 'log'>): EnvelopeDelivery {
  const kind = defineObjectKind({
    kind: envelopeKind,
    capability,
    push: EnvelopeSet,
    remove: EnvelopeRemove,
    async load(rows, em) {
      const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
      const clientId = rows[0]?.clientId ?? ''
      const envelopes = await em.find(Envelope, { clientId, ownerId: { $in: [...revisions.keys()] } })
      return new Map(
        envelopes.map(({ ownerId, limits }) => {
          const revision = revisions.get(ownerId) ?? 0
          return [ownerId, { owner_id: ownerId, revision, limits: encodeLimits(limits) }]
        })
      )
    },
    owners: async rows => new Map(rows.map(({ id }) => [id, id])),
    removal: ({ id, revision }) => ({ owner_id: id, revision }),
    async recordResult({ clientId, id: ownerId }, { status }, em) {
      const enforced = status === 'applied'
      await em.nativeUpdate(Envelope, { clientId, ownerId, enforced: !enforced }, { enforced })
    },
    resultRecorded({ clientId, id }, result) {
      if (result.status !== 'refused') return
      const fields = { client: clientId, owner: id, code: result.code }
      log.warn('owner_limit.refused', result.message, fields)
    }
  })

  async function clearEnforced({ clientId, agentVersion }: Peer): Promise<void> {
    try {
      const envelopes = await store.change(em => em.nativeUpdate(Envelope, { clientId }, { enforced: false }))
      if (envelopes === 0) return
      log.warn(
        'owner_limit.unsupported',
        `agent ${agentVersion} does not support limits: the rules under them are not open`,
        {
          client: clientId,
          envelopes
        }
      )
    } catch (error) {
      log.error('owner_limit.check_failed', String(error), { client: clientId })
    }
  }

  const connection: ConnectionHooks = {
    joined: peer => void (peer.can(capability) || clearEnforced(peer))
  }

  return { kind, connection }
}
