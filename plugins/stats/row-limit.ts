// Bounds the rows and reasons that a client's reports can add. Each owner of rules there has a share of the rows.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { CommittedMap } from '../http/exports.ts'
import type { OwnedRow } from './tables.ts'

const maxRowsPerRule = 20_000 // fits a week of minutes, 90 days of hours, 1,024 ports and a second epoch
const maxRowsPerClient = 200_000 // in equal shares
const maxReasonsPerRule = 32 // engines and built-in plugins have fewer than 20
const otherReason = 'other'
const recountMs = 60_000

export interface RowLimit {
  /** Returns the new rows beyond the limit of their owner. The others count as stored. */
  refuse(clientId: string, added: readonly OwnedRow[], em: EntityManager): Promise<ReadonlySet<OwnedRow>>
  /** Drops the counts of a client that joins, because a peer server may have added rows. */
  forget(clientId: string): void
  /** Drops all counts after rows were deleted. */
  reset(): void
}

export function openRowLimit({ clock }: Pick<Kernel, 'clock'>): RowLimit {
  /** By client. Counts may be stale, because peer servers may delete rows. */
  const counts = new CommittedMap<string, Counted>()

  const countOf = async (clientId: string, em: EntityManager): Promise<Counted> => ({
    byOwner: await countByOwner(clientId, em),
    at: clock.monotonic()
  })

  async function refuse(
    clientId: string,
    added: readonly OwnedRow[],
    em: EntityManager
  ): Promise<ReadonlySet<OwnedRow>> {
    if (added.length === 0) return new Set()
    const addedBy = Map.groupBy(added, ({ owner }) => owner)
    let known = counts.seenBy(em, clientId) ?? (await countOf(clientId, em))
    let rooms = await roomsFor(addedBy, clientId, known, em)
    const isFull = addedBy.entries().some(([owner, own]) => own.length > (rooms.get(owner) ?? 0))
    if (isFull && clock.monotonic() - known.at >= recountMs) {
      known = await countOf(clientId, em)
      rooms = await roomsFor(addedBy, clientId, known, em)
    }
    const byOwner = new Map(known.byOwner)
    const over = added.filter(({ owner }) => {
      const room = rooms.get(owner) ?? 0
      if (room <= 0) return true
      rooms.set(owner, room - 1)
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1)
      return false
    })
    counts.setBy(em, clientId, { ...known, byOwner })
    return new Set(over)
  }

  return {
    refuse,
    forget: clientId => void counts.delete(clientId),
    reset: () => counts.clear()
  }
}

interface Counted {
  readonly byOwner: ReadonlyMap<string, number>
  readonly at: number // monotonic
}

/** Returns how many rows each owner may still add. */
async function roomsFor(
  addedBy: ReadonlyMap<string, readonly OwnedRow[]>,
  clientId: string,
  { byOwner }: Counted,
  em: EntityManager
): Promise<Map<string, number>> {
  const owners = new Set([...byOwner.keys(), ...addedBy.keys()])
  const share = Math.floor(maxRowsPerClient / owners.size)
  const rooms = new Map<string, number>()
  for (const [owner, added] of addedBy) {
    const stored = byOwner.get(owner) ?? 0
    const isWithin = stored + added.length <= share
    const limit = isWithin ? share : Math.max(share, maxRowsPerRule * (await countRules(clientId, owner, em)))
    rooms.set(owner, limit - stored)
  }
  return rooms
}

async function countByOwner(clientId: string, em: EntityManager): Promise<Map<string, number>> {
  const found = await em.execute<{ owner: string; rows: number | string }[]>(
    `select coalesce(owned.owner, '') as owner, sum(stored.rows) as rows
     from (select rule_id, count(*) as rows from stats_row where client_id = ? group by rule_id) stored
     left join (select rule_id, max(owner) as owner from stats_total where client_id = ? group by rule_id) owned
     on owned.rule_id = stored.rule_id group by 1`,
    [clientId, clientId]
  )
  return new Map(found.map(({ owner, rows }) => [owner, Number(rows)]))
}

async function countRules(clientId: string, owner: string, em: EntityManager): Promise<number> {
  const [found] = await em.execute<{ rules: number | string }[]>(
    `select count(*) as rules from stats_total where kind = 'rule' and client_id = ? and owner = ?`,
    [clientId, owner]
  )
  return Number(found?.rules ?? 0)
}

/**
 * Folds reasons beyond the first 32 of a rule into `other`, because each reason is a series of /metrics. Takes and returns
 * the rows of several reports.
 */
export async function foldReasons(
  reports: readonly (readonly OwnedRow[])[],
  em: EntityManager
): Promise<OwnedRow[][]> {
  const rejections = reports.flat().filter(({ kind }) => kind === 'rejected')
  const known = new Map<string, Set<string>>()
  for (const some of rowBatches([...new Set(rejections.map(({ ruleId }) => ruleId))])) {
    const stored = await em.execute<{ ruleId: string; key: string }[]>(
      `select rule_id as "ruleId", key from stats_total
       where kind = 'rejected' and rule_id in (${some.map(() => '?').join(', ')})`,
      [...some]
    )
    for (const { ruleId, key } of stored) known.set(ruleId, (known.get(ruleId) ?? new Set()).add(key))
  }
  const fold = (row: OwnedRow): OwnedRow => {
    if (row.kind !== 'rejected') return row
    const reasons = known.get(row.ruleId) ?? new Set()
    known.set(row.ruleId, reasons)
    const key = reasons.has(row.key) || reasons.size < maxReasonsPerRule ? row.key : otherReason
    reasons.add(key)
    return { ...row, key }
  }
  return reports.map(rows => rows.map(fold))
}
