import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import type { Quota } from './entities.ts'
import type { QuotaRow } from './schema.ts'
import { bytesUsedOf, currentPeriod, rolledOver } from './usage.ts'

export async function rowsOf(
  quotas: readonly Quota[],
  nowMs: number,
  em: EntityManager
): Promise<QuotaRow[]> {
  const ids = [...new Set(quotas.map(({ clientId }) => clientId))]
  const clients = await em.find(Client, { id: { $in: ids } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return quotas.map(quota => rowOf(quota, names.get(quota.clientId) ?? '', nowMs))
}

export function rowOf(quota: Quota, clientName: string, nowMs: number): QuotaRow {
  const now = rolledOver(quota, nowMs)
  const { start, end } = currentPeriod(now, nowMs)
  const used = bytesUsedOf(now)
  return {
    user_id: now.userId,
    client_id: now.clientId,
    client_name: clientName,
    monthly_bytes: now.monthlyBytes,
    billing_anchor: now.anchor,
    bytes_used: used,
    bytes_remaining: Math.max(0, now.monthlyBytes - used),
    period_start: start,
    period_end: end,
    exhausted: now.exhaustedAt != null,
    exhausted_at: now.exhaustedAt == null ? null : secs(now.exhaustedAt),
    created_at: secs(now.createdAt),
    updated_at: secs(now.updatedAt)
  }
}

const secs = (ms: number): number => Math.floor(ms / 1000)
