import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { isCapable } from '../../kernel/control/peers.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Clients } from '../clients/exports.ts'
import type { Stats } from '../stats/exports.ts'
import { LastReport } from '../stats/wire.ts'
import type { Users } from '../users/exports.ts'
import { objectKeyOf, openDelivery } from './delivery.ts'
import { Quota } from './entities.ts'
import { notifyLevels } from './levels.ts'
import { openKeeping } from './lifecycle.ts'
import { firstOfMonth, periodOf } from './period.ts'
import { missing, openReading } from './reading.ts'
import { rowOf } from './row.ts'
import { type ChangeBody, invalidAnchor, type PairParams, type QuotaRow, type SetBody } from './schema.ts'
import type { keys } from './settings.ts'
import { rolledOver, withExhaustion } from './usage.ts'
import { capability } from './wire.ts'

export const unsupported = defineCode('quota_unsupported_by_client', 422, 3)

export interface Services extends Kernel<typeof keys> {
  readonly clients: Clients
  readonly users: Users
  readonly stats: Stats
}
export type Quotas = ReturnType<typeof openQuotas>

type Change = Pick<Call, 'change'>
const lastReportMs = 1_000

export function openQuotas(deps: Services) {
  const { config, store, clock, control, log, filled, clients, users } = deps
  const keeping = openKeeping(deps)

  /** Keeps usage and period of a quota that is there. */
  async function set(at: PairParams, body: SetBody, { change }: Change): Promise<QuotaRow> {
    const given = anchorIn(body)
    const { known, client } = await store.read(em => find(at, em))
    refuseUnable(client)
    if (!known) await settleBooks(at.client_id)
    return changed(at, change, async em => {
      const { known, client } = await find(at, em)
      refuseUnable(client)
      if (known && given !== undefined && given !== known.anchor)
        throw invalidAnchor('cannot be changed; delete the quota and make another')
      const quota = known ?? newQuota(at, given)
      return { ...quota, monthlyBytes: body.monthly_bytes }
    })
  }

  async function patch(at: PairParams, body: ChangeBody, { change }: Change): Promise<QuotaRow> {
    const isCleared = body.clear_period_usage === true
    if (isCleared) await settleBooks(at.client_id)
    return changed(at, change, async em => {
      const { known, client } = await find(at, em)
      const quota = known ?? missing(at)
      refuseUnable(client)
      const monthlyBytes = body.monthly_bytes ?? quota.monthlyBytes
      return { ...quota, monthlyBytes, credit: isCleared ? quota.used : quota.credit }
    })
  }

  /** Saves what `work` makes of it, as it stands now, and tells the agent. */
  async function changed(
    at: PairParams,
    change: Call['change'],
    work: (em: EntityManager) => Promise<Quota>
  ) {
    const { client_id: clientId, user_id: userId } = at
    const row = await change(resource(at), async em => {
      const now = clock.now()
      const judgment = {
        ...withExhaustion(await work(em), now),
        holdSecs: config.quota_hold_secs,
        updatedAt: now
      }
      const quota = await notifyLevels(judgment, { nowMs: now, filled }, em)
      await em.upsert(Quota, quota)
      await control.objects.put(em, objectKeyOf({ clientId, userId }))
      return rowOf(quota, (await clients.get(clientId, em)).name, now)
    })
    await control.objects.deliver(objectKeyOf({ clientId, userId }), 'push')
    return row
  }

  /** User and client must be there; the quota as it stands now, if there is one. */
  async function find({ user_id: userId, client_id: clientId }: PairParams, em: EntityManager) {
    await users.get(em, userId)
    const client = await clients.get(clientId, em)
    const known = await em.findOne(Quota, { userId, clientId }, { disableIdentityMap: true })
    return { client, known: known && rolledOver(known, clock.now()) }
  }

  function newQuota({ user_id: userId, client_id: clientId }: PairParams, given: number | undefined): Quota {
    const now = clock.now()
    const secs = Math.floor(now / 1000)
    const anchor = given ?? firstOfMonth(secs)
    const { start: periodStart } = periodOf(anchor, secs)
    const usage = { periodStart, used: 0, credit: 0, exhaustedAt: null, levelTold: null }
    const { quota_hold_secs: holdSecs } = config
    return { userId, clientId, monthlyBytes: 0, anchor, ...usage, holdSecs, createdAt: now, updatedAt: now }
  }

  function anchorIn({ billing_anchor: anchor }: SetBody): number | undefined {
    if (anchor !== undefined && anchor * 1000 > clock.now()) throw invalidAnchor('must not be in the future')
    return anchor
  }

  /** What was delivered until now is booked before the count begins anew, if the agent says it in time. */
  async function settleBooks(clientId: string): Promise<void> {
    try {
      await control.peers.find(clientId)?.request(LastReport, {}, { deadlineMs: lastReportMs })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      log.debug('traffic_quota.no_report', error.message, { client: clientId })
    }
  }

  async function remove(at: PairParams, { change }: Change): Promise<void> {
    const { client_id: clientId, user_id: userId } = at
    await change(resource(at), async em => {
      await users.get(em, userId)
      await clients.get(clientId, em)
      if (!(await keeping.lift({ clientId, userId }, em))) missing(at)
    })
    await control.objects.deliver(objectKeyOf({ clientId, userId }), 'remove')
  }

  return { set, patch, remove, ...openReading(deps), ...keeping, ...openDelivery(deps) }
}

/** As it is now, or as it was last seen; one that was never seen is judged when it joins. */
function refuseUnable({ id, agentVersion, capabilities = null }: Client): void {
  if (agentVersion == null || isCapable({ agentVersion, capabilities }, capability)) return
  const { id: what, since } = capability
  throw new Fault(
    unsupported,
    `client ${id} runs ${agentVersion}, without ${what} ${since}; update its agent`
  )
}

const resource = ({ user_id, client_id }: PairParams) => ({ kind: 'quota', id: `${user_id}/${client_id}` })
