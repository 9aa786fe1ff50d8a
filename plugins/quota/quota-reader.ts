// Reads quotas for their users, and for callers who see all.
import type { EntityManager, FilterQuery, QueryOrderMap } from '@mikro-orm/sql'
import { defineCode, Fault, notOwner } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import { type PagedRows, seesAll } from '../http/exports.ts'
import type { Users } from '../users/exports.ts'
import { Quota } from './entities.ts'
import type { PairParams, QuotaRow } from './schema.ts'
import { currentPeriod, netUsage, rollOver } from './usage.ts'

export const quotaNotFound = defineCode('quota_not_found', 404, 8)

interface Services extends Pick<Kernel, 'store' | 'clock'> {
  readonly clients: Clients
  readonly users: Users
}

export interface QuotaReader {
  /** Throws `not_owner` unless the caller is the user or sees all. */
  read(pair: PairParams, principal: Principal): Promise<QuotaRow>
  /** Throws `not_owner` unless the caller is the user or sees all. */
  listOfUser(userId: string, principal: Principal): Promise<PagedRows<QuotaRow>>
  listOfClient(clientId: string): Promise<PagedRows<QuotaRow>>
  /** Lists all quotas by client and user. */
  listAll(): PagedRows<QuotaRow>
}

export function openQuotaReader({ store, clock, clients, users }: Services): QuotaReader {
  /** Call it before any lookup, so that the answer does not reveal existing objects. */
  function requireSelf(userId: string, principal: Principal): void {
    if (!seesAll(principal) && principal.userId !== userId)
      throw new Fault(notOwner, 'these are the quotas of another user')
  }

  async function read(at: PairParams, principal: Principal): Promise<QuotaRow> {
    const { user_id: userId, client_id: clientId } = at
    requireSelf(userId, principal)
    return store.read(async em => {
      await users.get(em, userId)
      const quota = await em.findOne(Quota, { userId, clientId })
      // Others must not learn whether the client exists.
      if (!quota && seesAll(principal)) await clients.get(clientId, em)
      const [row] = quota ? await loadRows([quota], clock.now(), em) : []
      return row ?? throwQuotaNotFound(at)
    })
  }

  async function listOfUser(userId: string, principal: Principal): Promise<PagedRows<QuotaRow>> {
    requireSelf(userId, principal)
    await store.read(em => users.get(em, userId))
    return list({ userId }, 'clientId')
  }

  async function listOfClient(clientId: string): Promise<PagedRows<QuotaRow>> {
    await store.read(em => clients.get(clientId, em))
    return list({ clientId }, 'userId')
  }

  const listAll = (): PagedRows<QuotaRow> => ({
    async page(after, take, em) {
      const [client = '', user = ''] = after.split(' ')
      const later = { $or: [{ clientId: { $gt: client } }, { clientId: client, userId: { $gt: user } }] }
      const found = await find(later, { clientId: 'asc', userId: 'asc' }, take, em)
      return found.map(row => ({ key: `${row.client_id} ${row.user_id}`, row }))
    }
  })

  const list = (where: FilterQuery<Quota>, by: 'userId' | 'clientId'): PagedRows<QuotaRow> => ({
    async page(after, take, em) {
      const found = await find({ $and: [where, { [by]: { $gt: after } }] }, { [by]: 'asc' }, take, em)
      return found.map(row => ({ key: by === 'userId' ? row.user_id : row.client_id, row }))
    }
  })

  async function find(
    where: FilterQuery<Quota>,
    orderBy: QueryOrderMap<Quota>,
    limit: number,
    em: EntityManager
  ): Promise<QuotaRow[]> {
    return loadRows(await em.find(Quota, where, { orderBy, limit }), clock.now(), em)
  }

  return { read, listOfUser, listOfClient, listAll }
}

export function throwQuotaNotFound({ user_id, client_id }: PairParams): never {
  throw new Fault(quotaNotFound, `${user_id} has no quota on client ${client_id}`)
}

async function loadRows(quotas: readonly Quota[], nowMs: number, em: EntityManager): Promise<QuotaRow[]> {
  const ids = [...new Set(quotas.map(({ clientId }) => clientId))]
  const clients = await em.find(Client, { id: { $in: ids } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return quotas.map(quota => toRow(quota, names.get(quota.clientId) ?? '', nowMs))
}

export function toRow(quota: Quota, clientName: string, nowMs: number): QuotaRow {
  const current = rollOver(quota, nowMs)
  const { start, end } = currentPeriod(current, nowMs)
  const used = netUsage(current)
  return {
    user_id: current.userId,
    client_id: current.clientId,
    client_name: clientName,
    monthly_bytes: current.monthlyBytes,
    billing_anchor: current.anchor,
    bytes_used: used,
    bytes_remaining: Math.max(0, current.monthlyBytes - used),
    period_start: start,
    period_end: end,
    exhausted: current.exhaustedAt != null,
    exhausted_at: current.exhaustedAt == null ? null : toSecs(current.exhaustedAt),
    enforced: current.enforced,
    created_at: toSecs(current.createdAt),
    updated_at: toSecs(current.updatedAt)
  }
}

const toSecs = (ms: number): number => Math.floor(ms / 1000)
