// What the agents are told of envelopes.
import { defineObjectKind } from '../../kernel/control/managed-objects.ts'
import type { Connection } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openWaiting } from '../rules/exports.ts'
import { Envelope } from './entities.ts'
import { encodeLimits } from './limits.ts'
import { capability, EnvelopeRemove, EnvelopeSet, envelopeKind } from './wire.ts'

const waitSecs = 5

type Services = Pick<Kernel, 'store' | 'control' | 'clock' | 'log'>

export function openDelivery({ store, control, clock, log }: Services) {
  const waiting = openWaiting(clock)

  /** Waits a while for the agent's word, so that what is answered then holds already; it holds later in any case. */
  async function tell(
    about: 'push' | 'remove',
    { clientId, ownerId }: Pick<Envelope, 'clientId' | 'ownerId'>
  ) {
    const peer = control.peers.find(clientId)
    const word = peer?.can(capability) && waiting.expect(`${about} ${clientId} ${ownerId}`, peer, waitSecs)
    control.objects.wake(clientId)
    await word
  }

  const kind = defineObjectKind({
    kind: envelopeKind,
    push: EnvelopeSet,
    remove: EnvelopeRemove,
    async load(rows, em) {
      const able = rows.filter(({ clientId }) => control.peers.find(clientId)?.can(capability))
      const clientId = { $in: [...new Set(able.map(({ clientId }) => clientId))] }
      const found = await em.find(Envelope, { clientId, ownerId: { $in: able.map(({ id }) => id) } })
      return new Map(
        able.flatMap(({ clientId, id, revision }) => {
          const envelope = found.find(one => one.clientId === clientId && one.ownerId === id)
          return envelope ? [[id, { owner_id: id, revision, limits: encodeLimits(envelope.limits) }]] : []
        })
      )
    },
    removal: ({ id, revision }) => ({ owner_id: id, revision }),
    async recordResult() {},
    resultRecorded({ clientId, id, removal }, settlement) {
      waiting.tell(`${removal === null ? 'push' : 'remove'} ${clientId} ${id}`, settlement)
      if (settlement.status !== 'refused') return
      const fields = { client: clientId, owner: id, code: settlement.code }
      log.warn('owner_limit.refused', settlement.message, fields)
    }
  })

  /** An agent that was never seen before may turn out to be too old. */
  const connection: Connection = {
    joined(peer) {
      if (peer.can(capability)) return
      const { clientId, agentVersion } = peer
      store
        .read(em => em.count(Envelope, { clientId }))
        .then(
          envelopes => {
            if (envelopes > 0)
              log.warn('owner_limit.unsupported', `agent ${agentVersion} limits no owner; update it`, {
                client: clientId,
                envelopes
              })
          },
          error => log.error('owner_limit.unjudged', String(error), { client: clientId })
        )
    }
  }

  return { kind, connection, tell }
}
