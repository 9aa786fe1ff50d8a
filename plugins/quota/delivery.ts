// Pushes quotas to agents.
import { defineObjectKind, type ObjectKey, type ObjectKind } from '../../kernel/control/managed-objects.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { JournalPosition, Stats } from '../stats/exports.ts'
import { Quota } from './entities.ts'
import { countedSince, currentPeriod, rollOver } from './usage.ts'
import { capability, quotaKind, TrafficQuotaUpdate } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'control' | 'clock' | 'log'> {
  readonly stats: Stats
}

export const objectKey = ({ clientId, userId: id }: Pick<Quota, 'clientId' | 'userId'>): ObjectKey => ({
  clientId,
  kind: quotaKind,
  id
})

export interface QuotaDelivery {
  /** Pushes quotas to agents. */
  readonly kind: ObjectKind
  /** Sends all quotas again to a new agent process. */
  readonly connection: ConnectionHooks
}

export const openDelivery = (deps: Services): QuotaDelivery => ({
  kind: openKind(deps),
  connection: openConnection(deps)
})

const openKind = ({ clock, log, stats }: Services) =>
  defineObjectKind({
    kind: quotaKind,
    capability,
    push: TrafficQuotaUpdate,
    remove: TrafficQuotaUpdate,
    /** Reads usage and the last report that it includes in one transaction. */
    async load(rows, em) {
      const clientId = rows[0]?.clientId ?? ''
      const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
      const where = { clientId, userId: { $in: [...revisions.keys()] } }
      const quotas = await em.find(Quota, where)
      const position = await stats.lastCommitted(clientId, em)
      return new Map(
        quotas.map(quota => {
          const revision = revisions.get(quota.userId) ?? 0
          return [quota.userId, { ...toUpdate(quota, position, clock.now()), revision }]
        })
      )
    },
    owners: async rows => new Map(rows.map(({ id }) => [id, id])),
    removal: ({ id, revision }) => ({ ...removal, user_id: id, revision }),
    async recordResult({ clientId, id: userId }, { status }, em) {
      const enforced = status === 'applied'
      await em.nativeUpdate(Quota, { clientId, userId, enforced: !enforced }, { enforced })
    },
    resultRecorded({ clientId, id }, result) {
      if (result.status !== 'refused') return
      const fields = { client: clientId, user: id, code: result.code }
      log.warn('traffic_quota.refused', result.message, fields)
    }
  })

function toUpdate(quota: Quota, position: JournalPosition | null, nowMs: number) {
  const current = rollOver(quota, nowMs)
  return {
    action: 'SET' as const,
    user_id: current.userId,
    monthly_bytes: current.monthlyBytes,
    anchor: current.anchor,
    period_end: currentPeriod(current, nowMs).end,
    since: countedSince(current, nowMs),
    used: current.used,
    credit: current.credit,
    epoch: position?.epoch ?? '',
    seq: position?.seq ?? 0,
    hold_secs: current.holdSecs
  }
}

/** A removal without its user and revision. The agent ignores the other fields. */
const removal = {
  action: 'REMOVE' as const,
  monthly_bytes: 0,
  anchor: 0,
  period_end: 0,
  since: 0,
  used: 0,
  credit: 0,
  epoch: '',
  seq: 0,
  hold_secs: 0
}

function openConnection({ store, control, log }: Services): ConnectionHooks {
  /** A new agent process may have older state than its revisions claim, from a restored copy or after a power failure. */
  async function replayIfNew({ clientId, instanceId }: Peer): Promise<void> {
    try {
      const known = await store.read(em => em.find(Quota, { clientId }, { fields: ['instanceId'] }))
      if (known.every(quota => quota.instanceId === instanceId)) return
      await store.change(async em => {
        for (const quota of await em.find(Quota, { clientId }))
          if (quota.instanceId != null && quota.instanceId !== instanceId)
            await control.objects.put(em, objectKey(quota))
        await em.nativeUpdate(Quota, { clientId }, { instanceId })
      })
      control.objects.wake(clientId)
    } catch (error) {
      log.error('traffic_quota.not_replayed', String(error), { client: clientId })
    }
  }

  async function markUnenforced({ clientId, agentVersion }: Peer): Promise<void> {
    try {
      const quotas = await store.change(em => em.nativeUpdate(Quota, { clientId }, { enforced: false }))
      if (quotas === 0) return
      log.warn(
        'traffic_quota.unsupported',
        `agent ${agentVersion} does not support quotas; their rules are failed`,
        { client: clientId, quotas }
      )
    } catch (error) {
      log.error('traffic_quota.not_checked', String(error), { client: clientId })
    }
  }

  return {
    /** Capabilities are known only while an agent is connected. */
    joined(peer) {
      void (peer.can(capability) ? replayIfNew(peer) : markUnenforced(peer))
    }
  }
}
