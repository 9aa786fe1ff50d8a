// What the agents are told of quotas.
import { defineObjectKind } from '../../kernel/control/managed-objects.ts'
import type { Connection, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openWaiting } from '../rules/exports.ts'
import type { JournalPosition, Stats } from '../stats/stats.ts'
import { Quota } from './entities.ts'
import { countedSince, currentPeriod, rolledOver } from './usage.ts'
import { capability, quotaKind, TrafficQuotaUpdate } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'control' | 'clock' | 'log'> {
  readonly stats: Stats
}

const waitSecs = 5

export function openDelivery({ store, control, clock, log, stats }: Services) {
  const waiting = openWaiting(clock)

  /** Waits a while for the agent's word, so that what is answered then holds already; it holds later in any case. */
  async function tell(about: 'push' | 'remove', { clientId, userId }: Pick<Quota, 'clientId' | 'userId'>) {
    const peer = control.peers.find(clientId)
    const word = peer?.can(capability) && waiting.expect(`${about} ${clientId} ${userId}`, peer, waitSecs)
    control.objects.wake(clientId)
    await word
  }

  function updateOf(quota: Quota, revision: number, mark: JournalPosition | null): TrafficQuotaUpdate {
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
      epoch: mark?.epoch ?? '',
      seq: mark?.seq ?? 0,
      hold_secs: now.holdSecs
    }
  }

  const kind = defineObjectKind({
    kind: quotaKind,
    push: TrafficQuotaUpdate,
    remove: TrafficQuotaUpdate,
    /** Usage and the report that it is as of come from one transaction's view: this one. */
    async load(rows, em) {
      const bodies = new Map<string, TrafficQuotaUpdate>()
      for (const clientId of new Set(rows.map(row => row.clientId))) {
        if (!control.peers.find(clientId)?.can(capability)) continue
        const mine = rows.filter(row => row.clientId === clientId)
        const where = { clientId, userId: { $in: mine.map(({ id }) => id) } }
        const found = await em.find(Quota, where, { disableIdentityMap: true })
        const quotas = new Map(found.map(quota => [quota.userId, quota]))
        const mark = await stats.mark(clientId, em)
        for (const { id, revision } of mine) {
          const quota = quotas.get(id)
          if (quota) bodies.set(id, updateOf(quota, revision, mark))
        }
      }
      return bodies
    },
    removal: ({ id, revision }) => ({ ...nothing, user_id: id, revision }),
    async recordResult() {},
    resultRecorded({ clientId, id, removal }, settlement) {
      waiting.tell(`${removal === null ? 'push' : 'remove'} ${clientId} ${id}`, settlement)
      if (settlement.status !== 'refused') return
      const fields = { client: clientId, user: id, code: settlement.code }
      log.warn('traffic_quota.refused', settlement.message, fields)
    }
  })

  const instances = new Map<string, string>() // of agents, by client, as they joined last

  /** Its state may be of an earlier day than its revisions say: a copy that was put back, a disk that lost power. */
  function replay({ clientId, instanceId }: Peer): void {
    const last = instances.get(clientId)
    instances.set(clientId, instanceId)
    if (last === undefined || last === instanceId) return
    store
      .change(async em => {
        for (const { userId: id } of await em.find(Quota, { clientId }))
          await control.objects.put(em, { clientId, kind: quotaKind, id })
      })
      .then(
        () => control.objects.wake(clientId),
        error => log.error('traffic_quota.not_replayed', String(error), { client: clientId })
      )
  }

  /** An agent that was never seen before may turn out to be too old. */
  const connection: Connection = {
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

  return { kind, connection, tell }
}

const nothing = {
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
