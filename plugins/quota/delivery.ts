// Sends quotas to agents.
import { defineObjectKind, type ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { JournalPosition, Stats } from '../stats/exports.ts'
import { Quota } from './entities.ts'
import { countedSince, currentPeriod, rolledOver } from './usage.ts'
import { capability, quotaKind, TrafficQuotaUpdate } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'control' | 'clock' | 'log'> {
  readonly stats: Stats
}

export const objectKeyOf = ({ clientId, userId: id }: Pick<Quota, 'clientId' | 'userId'>): ObjectKey => ({
  clientId,
  kind: quotaKind,
  id
})

export function openDelivery({ store, control, clock, log, stats }: Services) {
  function updateOf(quota: Quota, revision: number, position: JournalPosition | null): TrafficQuotaUpdate {
    const now = rolledOver(quota, clock.now())
    return {
      action: 'SET',
      user_id: now.userId,
      revision,
      monthly_bytes: now.monthlyBytes,
      anchor: now.anchor,
      period_end: currentPeriod(now, clock.now()).end,
      since: countedSince(now),
      booked: now.used,
      credit: now.credit,
      epoch: position?.epoch ?? '',
      seq: position?.seq ?? 0,
      hold_secs: now.holdSecs
    }
  }

  const kind = defineObjectKind({
    kind: quotaKind,
    capability,
    push: TrafficQuotaUpdate,
    remove: TrafficQuotaUpdate,
    /** Usage, and the report up to which it counts, come from one transaction. */
    async load(rows, em) {
      const clientId = rows[0]?.clientId ?? ''
      const where = { clientId, userId: { $in: rows.map(({ id }) => id) } }
      const quotas = await em.find(Quota, where, { disableIdentityMap: true })
      const position = await stats.lastCommitted(clientId, em)
      const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
      return new Map(
        quotas.map(quota => [quota.userId, updateOf(quota, revisions.get(quota.userId) ?? 0, position)])
      )
    },
    removal: ({ id, revision }) => ({ ...removal, user_id: id, revision }),
    resultRecorded({ clientId, id }, result) {
      if (result.status !== 'refused') return
      const fields = { client: clientId, user: id, code: result.code }
      log.warn('traffic_quota.refused', result.message, fields)
    }
  })

  const instances = new Map<string, string>() // by client: the agent process that joined last

  /** A new process of an agent may have state older than its revisions say: a restored copy, a disk that lost power. */
  function replay({ clientId, instanceId }: Peer): void {
    const last = instances.get(clientId)
    instances.set(clientId, instanceId)
    if (last === undefined || last === instanceId) return
    store
      .change(async em => {
        for (const quota of await em.find(Quota, { clientId }))
          await control.objects.put(em, objectKeyOf(quota))
      })
      .then(
        () => control.objects.wake(clientId),
        error => log.error('traffic_quota.not_replayed', String(error), { client: clientId })
      )
  }

  /** Only a connected agent shows whether it can enforce the quotas of its client. */
  const connection: ConnectionHooks = {
    joined(peer) {
      if (peer.can(capability)) return replay(peer)
      const { clientId, agentVersion } = peer
      store
        .read(em => em.count(Quota, { clientId }))
        .then(
          quotas => {
            if (quotas > 0)
              log.warn('traffic_quota.unsupported', `agent ${agentVersion} keeps no quota; update it`, {
                client: clientId,
                quotas
              })
          },
          error => log.error('traffic_quota.unjudged', String(error), { client: clientId })
        )
    }
  }

  return { kind, connection }
}

/** A removal: the other fields mean nothing. */
const removal = {
  action: 'REMOVE' as const,
  monthly_bytes: 0,
  anchor: 0,
  period_end: 0,
  since: 0,
  booked: 0,
  credit: 0,
  epoch: '',
  seq: 0,
  hold_secs: 0
}
