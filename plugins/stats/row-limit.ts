// Bounds the rows and reasons that a client's reports can add.
import type { EntityManager } from '@mikro-orm/sql'
import type { Counts } from '../../agent/wire/counters.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { CommittedMap } from '../http/exports.ts'
import { toRefusedRow, type Validated } from './report-validation.ts'
import { type OwnedRow, rowKey } from './tables.ts'

const maxRowsPerRule = 20_000 // fits a week of minutes, 90 days of hours, 1,024 ports and a second epoch
const minRowLimit = 200_000
const maxReasonsPerRule = 32 // engines and built-in plugins have fewer than 20
const otherReason = 'other'
const recountMs = 60_000

export interface RowLimit {
  /** Refuses new rows beyond the limit of the client. The accepted rows count as stored. */
  admit(
    clientId: string,
    rows: readonly OwnedRow[],
    committed: ReadonlyMap<string, Counts>,
    em: EntityManager
  ): Promise<Validated<OwnedRow>>
  /** Drops the count of a client that joins, because a peer server may have added rows. */
  forget(clientId: string): void
  /** Drops all counts after rows were deleted. */
  reset(): void
}

export function openRowLimit({ clock }: Pick<Kernel, 'clock'>): RowLimit {
  /** By client. A count may be stale, because peer servers may delete rows. */
  const counts = new CommittedMap<string, Counted>()

  const countOf = async (clientId: string, em: EntityManager): Promise<Counted> => ({
    rows: await count('stats_row where client_id = ?', clientId, em),
    at: clock.monotonic()
  })

  async function admit(
    clientId: string,
    rows: readonly OwnedRow[],
    committed: ReadonlyMap<string, Counts>,
    em: EntityManager
  ): Promise<Validated<OwnedRow>> {
    const isNew = (row: OwnedRow): boolean => !committed.has(rowKey(row))
    const added = rows.filter(isNew).length
    const known = counts.seenBy(em, clientId) ?? (await countOf(clientId, em))
    const limit = known.rows + added <= minRowLimit ? minRowLimit : await loadLimit(clientId, em)
    const mustCount = known.rows + added > limit && clock.monotonic() - known.at >= recountMs
    const { rows: stored, at } = mustCount ? await countOf(clientId, em) : known
    counts.setBy(em, clientId, { rows: Math.min(stored + added, Math.max(stored, limit)), at })
    if (stored + added <= limit) return { accepted: rows, refused: [] }
    let room = Math.max(0, limit - stored)
    const { accepted = [], over = [] } = Object.groupBy(rows, row =>
      !isNew(row) || room-- > 0 ? 'accepted' : 'over'
    )
    return { accepted, refused: over.map(row => toRefusedRow(row, 'limit')) }
  }

  return {
    admit,
    forget: clientId => void counts.delete(clientId),
    reset: () => counts.clear()
  }
}

interface Counted {
  readonly rows: number
  readonly at: number // monotonic
}

const loadLimit = async (clientId: string, em: EntityManager): Promise<number> =>
  Math.max(
    minRowLimit,
    maxRowsPerRule * (await count(`stats_total where kind = 'rule' and client_id = ?`, clientId, em))
  )

async function count(from: string, clientId: string, em: EntityManager): Promise<number> {
  const [found] = await em.execute<{ rows: number }[]>(`select count(*) as rows from ${from}`, [clientId])
  return Number(found?.rows ?? 0)
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
