// Bounds the rows and reasons that the reports of a client can add.
import type { EntityManager } from '@mikro-orm/sql'
import type { Counts } from '../../agent/wire/counters.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { CommittedMap } from '../http/exports.ts'
import { type Judged, refusalOf } from './report-validation.ts'
import { type OwnedRow, rowKey } from './tables.ts'

const rowsPerRule = 20_000 // a week of minutes, 90 days of hours, 1,024 ports, and room for another epoch
const leastRows = 200_000
const reasonsPerRule = 32 // engines and built-in plugins have fewer than 20
const otherReason = 'other'
const recountMs = 60_000

export function openRowLimit({ clock }: Pick<Kernel, 'clock'>) {
  /** By client, since it joined; when it was counted. Other servers may have deleted rows meanwhile. */
  const counts = new CommittedMap<string, Counted>()

  const countOf = async (clientId: string, em: EntityManager): Promise<Counted> => ({
    rows: await count('stats_row where client_id = ?', clientId, em),
    at: clock.monotonic()
  })

  /** Returns the rows without new ones beyond the limit of the client; the others count as stored. */
  async function keep(
    clientId: string,
    rows: readonly OwnedRow[],
    committed: ReadonlyMap<string, Counts>,
    em: EntityManager
  ): Promise<Judged<OwnedRow>> {
    const isNew = (row: OwnedRow): boolean => !committed.has(rowKey(row))
    const added = rows.filter(isNew).length
    const known = counts.seenBy(em, clientId) ?? (await countOf(clientId, em))
    const limit = known.rows + added <= leastRows ? leastRows : await limitOf(clientId, em)
    const mustCount = known.rows + added > limit && clock.monotonic() - known.at >= recountMs
    const { rows: stored, at } = mustCount ? await countOf(clientId, em) : known
    counts.setBy(em, clientId, { rows: Math.min(stored + added, Math.max(stored, limit)), at })
    if (stored + added <= limit) return { own: rows, refused: [] }
    let room = Math.max(0, limit - stored)
    const { own = [], over = [] } = Object.groupBy(rows, row => (!isNew(row) || room-- > 0 ? 'own' : 'over'))
    return { own, refused: over.map(row => refusalOf(row, 'limit')) }
  }

  return {
    keep,
    /** Called when a client joins: another server may have added rows. */
    forget: (clientId: string): void => void counts.delete(clientId),
    /** Called when rows were deleted: the next report counts again. */
    reset: (): void => counts.clear()
  }
}

interface Counted {
  readonly rows: number
  readonly at: number // monotonic
}

const limitOf = async (clientId: string, em: EntityManager): Promise<number> =>
  Math.max(
    leastRows,
    rowsPerRule * (await count(`stats_total where kind = 'rule' and client_id = ?`, clientId, em))
  )

async function count(from: string, clientId: string, em: EntityManager): Promise<number> {
  const [found] = await em.execute<{ rows: number }[]>(`select count(*) as rows from ${from}`, [clientId])
  return Number(found?.rows ?? 0)
}

/**
 * Counts refusals for a reason beyond the first 32 of a rule as `other`: each reason is a series of /metrics. Takes and
 * returns the rows of several reports.
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
  const folded = (row: OwnedRow): OwnedRow => {
    if (row.kind !== 'rejected') return row
    const reasons = known.get(row.ruleId) ?? new Set()
    known.set(row.ruleId, reasons)
    const key = reasons.has(row.key) || reasons.size < reasonsPerRule ? row.key : otherReason
    reasons.add(key)
    return { ...row, key }
  }
  return reports.map(rows => rows.map(folded))
}
