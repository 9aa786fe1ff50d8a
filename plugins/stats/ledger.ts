// The server's books. A report holds absolute totals: what is booked is the difference to the one before.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleOwnership } from '../rules/exports.ts'
import { type Counts, isLower, isSame, isSpan, keyOf, minus, noCounts, plus } from './counters.ts'
import { StatsEpoch } from './entities.ts'
import { type AfterCommit, type CommittedBytes, committedSlot } from './exports.ts'
import type { RuleOwners } from './rule-owners.ts'
import { addTotals, advanceEpoch, type OwnedRow, putRows, rowsBefore } from './tables.ts'
import type { Row, StatsReport } from './wire.ts'

export interface Report extends StatsReport {
  readonly clientId: string
}

export const epochsTold = 1000 // an agent keeps few: one more each time that it starts

/** A journal, and how far of it is booked. */
export interface JournalPosition {
  readonly epoch: string
  readonly seq: number
}

export type Ledger = ReturnType<typeof openLedger>

export function openLedger({ clock, log, filled }: Kernel, holders: Pick<RuleOwners, 'of' | 'reported'>) {
  async function book(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]> {
    const ids = new Set(reports.flatMap(({ rows }) => rows.map(row => row.rule_id)))
    const held = await holders.of([...ids], em)
    const notices: AfterCommit[] = []
    const differences: CommittedBytes[] = []
    const complete = new Set<string>()
    for (const report of reports) {
      const { grown, lower } = await compare(report, held, em)
      await putRows(
        report,
        grown.map(({ row }) => row),
        em
      )
      const totals = totalsOf(grown.map(({ added }) => added))
      await addTotals({ clientId: report.clientId, updatedAt: clock.now() }, totals, em)
      differences.push(...grown.flatMap(({ added }) => differenceOf(report.clientId, added)))
      const minute = latestOf(grown.map(({ row }) => row))
      const told = { seq: report.seq, minute, isWhole: report.last, bookedAt: clock.now() }
      const { isNew, isCompleted } = await advanceEpoch(report, told, em)
      if (isCompleted) complete.add(report.clientId)
      notices.push(...(isNew ? gapBefore(report) : []), ...refusal(report, lower))
    }
    await holders.reported([...complete], em)
    if (differences.length > 0)
      for (const { value: sink } of filled(committedSlot)) notices.push(...(await sink(differences, em)))
    return notices
  }

  /** Only rows of rules that are this client's: an agent speaks for no other. */
  async function compare(report: Report, held: ReadonlyMap<string, RuleOwnership>, em: EntityManager) {
    const mine = report.rows.flatMap(row => {
      const holder = held.get(row.rule_id)
      return holder?.clientId === report.clientId && isWhole(row) ? [{ ...row, owner: holder.owner }] : []
    })
    const rows = [...new Map(mine.map(row => [keyOf(row), row])).values()]
    const before = await rowsBefore(report, rows, em)
    const so = (row: Row): Counts => before.get(keyOf(row)) ?? noCounts
    const lower = rows.filter(row => isLower(row, so(row)))
    const grown = rows
      .filter(row => !isLower(row, so(row)) && !isSame(row, so(row)))
      .map(row => ({ row, added: { ...row, ...minus(row, so(row)) } }))
    return { grown, lower }
  }

  function gapBefore({ clientId, epoch, gap }: Report): AfterCommit[] {
    if (!gap) return []
    const fields = { client_id: clientId, epoch, from: timestamp(gap.from_ms), to: timestamp(gap.to_ms) }
    return [
      () =>
        log.warn('accounting.gap', 'the agent did not end in order: its last second may be missing', fields)
    ]
  }

  const refusal = ({ clientId, epoch }: Report, [first, ...others]: readonly Row[]): AfterCommit[] =>
    first
      ? [
          () =>
            log.warn('accounting.lower_value', 'a report says less than was booked, which stands', {
              client_id: clientId,
              epoch,
              rule: first.rule_id,
              kind: first.kind,
              key: first.key,
              others: others.length
            })
        ]
      : []

  /** How far the client's journals are booked, those of late. */
  async function booked(clientId: string, em: EntityManager): Promise<Record<string, number>> {
    const epochs = await em.find(
      StatsEpoch,
      { clientId },
      { orderBy: { bookedAt: 'desc' }, limit: epochsTold }
    )
    return Object.fromEntries(epochs.map(({ epoch, seq }) => [epoch, seq]))
  }

  /** The one that was booked last; null before the first report. */
  async function mark(clientId: string, em: EntityManager): Promise<JournalPosition | null> {
    const last = { orderBy: { bookedAt: 'desc' }, limit: 1, disableIdentityMap: true } as const
    const [found] = await em.find(StatsEpoch, { clientId }, last)
    return found ? { epoch: found.epoch, seq: found.seq } : null
  }

  return { book, booked, mark }
}

/** The last minute in which something was delivered, if anything was. */
const latestOf = (rows: readonly Row[]): number | null =>
  rows
    .filter(({ kind }) => kind === 'minute')
    .map(({ key }) => Number(key))
    .sort((a, b) => b - a)[0] ?? null

/** A span is named by its start. */
const isWhole = ({ kind, key }: Row): boolean => !isSpan(kind) || /^\d{1,10}$/.test(key)

/** One row a key: spans of a rule add up in its row of the kind 'rule'. */
function totalsOf(added: readonly OwnedRow[]): OwnedRow[] {
  const totals = new Map<string, OwnedRow>()
  for (const row of added) {
    const total = isSpan(row.kind) ? { ...row, kind: 'rule', key: '' } : row
    const so = totals.get(keyOf(total))
    totals.set(keyOf(total), so ? { ...so, ...plus(so, total) } : total)
  }
  return [...totals.values()]
}

function differenceOf(clientId: string, added: OwnedRow): CommittedBytes[] {
  if (!isSpan(added.kind)) return []
  const { owner, rule_id: ruleId, kind: span, key, bytes_in: bytesIn, bytes_out: bytesOut } = added
  return [{ clientId, owner, ruleId, span, startSecs: Number(key), bytesIn, bytesOut }]
}
