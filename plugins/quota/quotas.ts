import type { EntityManager } from '@mikro-orm/sql'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { AfterCommit, CommittedBytes, Stats } from '../stats/exports.ts'
import type { Users } from '../users/exports.ts'
import { objectKey, openDelivery, type QuotaDelivery } from './delivery.ts'
import { Quota } from './entities.ts'
import { notifyLevels } from './levels.ts'
import { type Lifecycle, openLifecycle } from './lifecycle.ts'
import { openQuotaReader, type QuotaReader, throwQuotaNotFound, toRow } from './quota-reader.ts'
import { recordExhaustion } from './record-exhaustion.ts'
import { unsupported } from './requirement.ts'
import {
  type ChangeBody,
  checkAnchor,
  invalidAnchor,
  type PairParams,
  type QuotaRow,
  type SetBody
} from './schema.ts'
import type { keys } from './settings.ts'
import { newQuota, rollOver, withExhaustion } from './usage.ts'
import { openUsageSink } from './usage-sink.ts'
import { capability } from './wire.ts'

export interface Services extends Kernel<typeof keys> {
  readonly clients: Clients
  readonly users: Users
  readonly rules: Rules
  readonly stats: Stats
}

export interface Quotas extends QuotaReader, QuotaDelivery {
  /** Creates or changes a quota. An existing quota keeps its usage and period. */
  set(pair: PairParams, body: SetBody, call: Change): Promise<QuotaRow>
  patch(pair: PairParams, body: ChangeBody, call: Change): Promise<QuotaRow>
  remove(pair: PairParams, call: Change): Promise<void>
  /** Adds committed bytes to the quotas of their owners. */
  onCommitted(committed: readonly CommittedBytes[], em: EntityManager): Promise<AfterCommit[]>
  readonly lifecycle: Lifecycle
}

type Change = Pick<Call, 'change'>

const reportMs = 1_000

export function openQuotas(deps: Services): Quotas {
  const { store, clock, control, clients, users } = deps
  const lifecycle = openLifecycle(deps)

  async function set(pair: PairParams, body: SetBody, { change }: Change): Promise<QuotaRow> {
    const anchor = checkAnchor(body.billing_anchor, clock.now())
    const { client, found } = await store.read(em => find(pair, deps, em))
    requireCapability(client, capability, unsupported)
    if (!found) await requestReport(pair.client_id, deps)
    return save(pair, change, deps, async em => {
      const { client, found } = await find(pair, deps, em)
      requireCapability(client, capability, unsupported)
      if (found && anchor !== undefined && anchor !== found.anchor)
        throw invalidAnchor('cannot be changed; delete the quota and create a new one')
      const ids = { userId: pair.user_id, clientId: pair.client_id }
      return { ...(found ?? newQuota(ids, anchor, clock.now())), monthlyBytes: body.monthly_bytes }
    })
  }

  async function patch(pair: PairParams, body: ChangeBody, { change }: Change): Promise<QuotaRow> {
    const isCleared = body.clear_period_usage === true
    if (isCleared) await requestReport(pair.client_id, deps)
    return save(pair, change, deps, async em => {
      const { client, found } = await find(pair, deps, em)
      const quota = found ?? throwQuotaNotFound(pair)
      requireCapability(client, capability, unsupported)
      const monthlyBytes = body.monthly_bytes ?? quota.monthlyBytes
      return { ...quota, monthlyBytes, credit: isCleared ? quota.used : quota.credit }
    })
  }

  async function remove(pair: PairParams, { change }: Change): Promise<void> {
    const ids = { clientId: pair.client_id, userId: pair.user_id }
    const { refreshed, delivery } = await change(quotaResource(pair), async em => {
      await users.get(em, ids.userId)
      await clients.get(ids.clientId, em)
      const refreshed = (await lifecycle.remove(ids, em)) ?? throwQuotaNotFound(pair)
      return { refreshed, delivery: await control.objects.deliver(em, objectKey(ids), 'remove') }
    })
    refreshed()
    await delivery.answered()
  }

  return {
    set,
    patch,
    remove,
    onCommitted: openUsageSink(deps),
    lifecycle,
    ...openQuotaReader(deps),
    ...openDelivery(deps)
  }
}

/** Returns the client, and the quota in its current period or null. Throws if the user or the client does not exist. */
async function find({ user_id: userId, client_id: clientId }: PairParams, deps: Services, em: EntityManager) {
  await deps.users.get(em, userId)
  const client = await deps.clients.get(clientId, em)
  const found = await em.findOne(Quota, { userId, clientId })
  return { client, found: found && rollOver(found, deps.clock.now()) }
}

/** Saves the quota that `work` returns, and delivers it to the agent. */
async function save(
  pair: PairParams,
  change: Call['change'],
  { clock, config, control, clients, rules, filled, log }: Services,
  work: (em: EntityManager) => Promise<Quota>
): Promise<QuotaRow> {
  const clientId = pair.client_id
  const userId = pair.user_id
  const key = objectKey({ clientId, userId })
  const { row, refreshed, delivery } = await change(quotaResource(pair), async em => {
    const now = clock.now()
    const given = await work(em)
    const instanceId = control.peers.find(clientId)?.instanceId ?? given.instanceId
    const changed = {
      ...given,
      instanceId,
      holdSecs: config.quota_hold_secs,
      enforced: false,
      updatedAt: now
    }
    const quota = await notifyLevels(withExhaustion(changed, now), { nowMs: now, filled, log }, em)
    const stored = await em.findOne(Quota, { clientId, userId })
    await em.upsert(Quota, quota)
    await recordExhaustion(stored, quota, { rules, em })
    await control.objects.put(em, key)
    return {
      delivery: await control.objects.deliver(em, key, 'push'),
      row: toRow(quota, (await clients.get(clientId, em)).name, now),
      refreshed: stored === null ? await rules.refresh({ clientId, owner: userId }, em) : () => {}
    }
  })
  refreshed()
  const result = await delivery.answered()
  return { ...row, enforced: result?.status === 'applied' }
}

/** Commits delivered bytes before usage restarts at 0. Bytes in later reports count. */
async function requestReport(clientId: string, { stats, log }: Services): Promise<void> {
  try {
    await stats.requestReport(clientId, { deadlineMs: reportMs })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    log.debug('traffic_quota.no_report', error.message, { client: clientId })
  }
}

/** Usage does not change the version of a quota. */
export const quotaResource = ({ user_id: userId, client_id: clientId }: PairParams): Resource => ({
  kind: 'quota',
  id: `${userId}/${clientId}`,
  async version(em) {
    const found = await em.findOne(Quota, { userId, clientId })
    return found && [found.monthlyBytes, found.createdAt, found.updatedAt]
  }
})
