// Reports hold absolute totals. These functions compute the increase over the committed totals.
import { type Counts, isLower, isSame, minus, noCounts, plus } from '../../agent/wire/counters.ts'
import type { JournalRow } from '../../agent/wire/journal-report.ts'
import type { CommittedBytes, CommittedTarget } from './exports.ts'
import { type OwnedRow, rowKey } from './tables.ts'

export interface Comparison {
  readonly grown: readonly OwnedRow[] // as reported
  readonly added: readonly OwnedRow[] // the same rows, with only the increase
  readonly fresh: readonly OwnedRow[] // those of `grown` without committed counts
  readonly lower: readonly OwnedRow[] // below the committed counts: refused
}

/** Compares reported rows with the committed counts. No two rows may have the same key. */
export function compare(rows: readonly OwnedRow[], committed: ReadonlyMap<string, Counts>): Comparison {
  const lower: OwnedRow[] = []
  const grown: OwnedRow[] = []
  const added: OwnedRow[] = []
  const fresh: OwnedRow[] = []
  for (const row of rows) {
    const before = committed.get(row.id)
    if (isLower(row, before ?? noCounts)) lower.push(row)
    else if (!isSame(row, before ?? noCounts)) {
      grown.push(row)
      added.push(before ? { ...row, ...minus(row, before) } : row)
      if (!before) fresh.push(row)
    }
  }
  return { grown, added, fresh, lower }
}

/** Removes new rows. */
export function without(rows: ReadonlySet<OwnedRow>, compared: Comparison): Comparison {
  if (rows.size === 0) return compared
  const grown = compared.grown.filter(row => !rows.has(row))
  const left = new Set(grown.map(({ id }) => id))
  return { ...compared, grown, added: compared.added.filter(({ id }) => left.has(id)) }
}

/** Minutes and hours are spans. They never count the same byte, so a total is the sum of both. */
const isSpan = (kind: string): kind is CommittedBytes['span'] => kind === 'minute' || kind === 'hour'

/** Returns the start of the latest minute in the rows, or null if they have none. */
export const latestMinute = (rows: readonly JournalRow[]): number | null =>
  rows
    .filter(({ kind }) => kind === 'minute')
    .map(({ key }) => Number(key))
    .sort((a, b) => b - a)[0] ?? null

/** Returns one row per key. Adds the bytes of the spans of a rule to its row of kind 'rule', which has its other counts. */
export function sumByRule(added: readonly OwnedRow[]): OwnedRow[] {
  const totals = new Map<string, OwnedRow>()
  for (const row of added) {
    const { bytesIn, bytesOut } = row
    const total = isSpan(row.kind) ? { ...row, ...noCounts, kind: 'rule', key: '', bytesIn, bytesOut } : row
    const key = rowKey(total)
    const sum = totals.get(key)
    totals.set(key, sum ? { ...sum, ...plus(sum, total) } : total)
  }
  return [...totals.values()]
}

export function committedBytes(clientId: string, added: readonly OwnedRow[]): CommittedBytes[] {
  const bytes: CommittedBytes[] = []
  for (const row of added)
    if (isSpan(row.kind))
      bytes.push({
        clientId,
        owner: row.owner,
        ruleId: row.ruleId,
        span: row.kind,
        startSecs: Number(row.key),
        bytesIn: row.bytesIn,
        bytesOut: row.bytesOut,
        datagramsIn: row.datagramsIn,
        datagramsOut: row.datagramsOut,
        connections: row.connections,
        refused: row.rejected + row.overflows
      })
  return bytes
}

/** `nowSecs`: for targets of rules without a span in this part of the report. */
export function committedTargets(
  clientId: string,
  added: readonly OwnedRow[],
  nowSecs: number
): CommittedTarget[] {
  const latest = new Map<string, number>()
  for (const { ruleId, kind, key } of added)
    if (isSpan(kind)) latest.set(ruleId, Math.max(Number(key), latest.get(ruleId) ?? 0))
  return added.flatMap(({ kind, key: target, owner, ruleId, bytesIn, bytesOut, connections }) => {
    const startSecs = latest.get(ruleId) ?? nowSecs
    return kind === 'target'
      ? [{ clientId, owner, ruleId, target, startSecs, bytesIn, bytesOut, connections }]
      : []
  })
}
