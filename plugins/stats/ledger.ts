// The record of reported totals. A report commits its difference to the one before, so a retransmission adds nothing.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleOwnership } from '../rules/exports.ts'
import { committedBytes, compare, hasValidKey, latestMinute, totalsOf } from './comparison.ts'
import { StatsEpoch } from './entities.ts'
import { type AfterCommit, type CommittedBytes, committedSlot, type JournalPosition } from './exports.ts'
import type { RuleOwners } from './rule-owners.ts'
import { addTotals, advanceEpoch, committedCounts, type OwnedRow, putRows, rowKey } from './tables.ts'
import { decodeRow, type JournalRow, type StatsReport } from './wire.ts'

export interface Report extends StatsReport {
  readonly clientId: string
}

interface CommittedReport {
  readonly bytes: readonly CommittedBytes[]
  readonly isCompleted: boolean // the agent has nothing more to report
  readonly afterCommit: readonly AfterCommit[]
}

export const epochsSent = 1000 // an agent keeps few: one more each time it starts

export type Ledger = ReturnType<typeof openLedger>

export function openLedger({ clock, log, filled }: Kernel, owners: Pick<RuleOwners, 'of' | 'reported'>) {
  /** Commits reports in one transaction. Calls the fillers of `stats.committed`. */
  async function commit(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]> {
    const ruleIds = new Set(reports.flatMap(({ rows }) => rows.map(row => row.rule_id)))
    const ownership = await owners.of([...ruleIds], em)
    const committed: CommittedReport[] = []
    for (const report of reports) committed.push(await commitOne(report, ownership, em))
    const completed = reports.filter((_, i) => committed[i]?.isCompleted).map(({ clientId }) => clientId)
    await owners.reported([...new Set(completed)], em)
    const bytes = committed.flatMap(report => report.bytes)
    const afterCommit = committed.flatMap(report => report.afterCommit)
    if (bytes.length > 0)
      for (const { value: onCommitted } of filled(committedSlot))
        afterCommit.push(...(await onCommitted(bytes, em)))
    return afterCommit
  }

  async function commitOne(
    report: Report,
    ownership: ReadonlyMap<string, RuleOwnership>,
    em: EntityManager
  ): Promise<CommittedReport> {
    const rows = ownRows(report, ownership)
    const { grown, added, lower } = compare(rows, await committedCounts(report, rows, em))
    await putRows(report, grown, em)
    const committedAt = clock.now()
    await addTotals({ clientId: report.clientId, updatedAt: committedAt }, totalsOf(added), em)
    const progress = { seq: report.seq, minute: latestMinute(grown), isComplete: report.last, committedAt }
    const { isNew, isCompleted } = await advanceEpoch(report, progress, em)
    return {
      bytes: committedBytes(report.clientId, added),
      isCompleted,
      afterCommit: [...(isNew ? logGap(report, log) : []), ...logLower(report, lower, log)]
    }
  }

  /** The committed seq of each of the client's latest epochs. */
  async function committedSeqs(clientId: string, em: EntityManager): Promise<Record<string, number>> {
    const latest = { orderBy: { bookedAt: 'desc' }, limit: epochsSent } as const
    const epochs = await em.find(StatsEpoch, { clientId }, latest)
    return Object.fromEntries(epochs.map(({ epoch, seq }) => [epoch, seq]))
  }

  async function lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null> {
    const latest = { orderBy: { bookedAt: 'desc' }, limit: 1, disableIdentityMap: true } as const
    const [found] = await em.find(StatsEpoch, { clientId }, latest)
    return found ? { epoch: found.epoch, seq: found.seq } : null
  }

  return { commit, committedSeqs, lastCommitted }
}

/** Returns valid rows, each key once. Drops rows of other clients' rules: an agent reports only its own. */
function ownRows({ clientId, rows }: Report, ownership: ReadonlyMap<string, RuleOwnership>): OwnedRow[] {
  const own = new Map<string, OwnedRow>()
  for (const row of rows.map(decodeRow)) {
    const rule = ownership.get(row.ruleId)
    if (rule?.clientId === clientId && hasValidKey(row)) own.set(rowKey(row), { ...row, owner: rule.owner })
  }
  return [...own.values()]
}

function logGap({ clientId, epoch, gap }: Report, log: Log): AfterCommit[] {
  if (!gap) return []
  const fields = { client_id: clientId, epoch, from: timestamp(gap.from_ms), to: timestamp(gap.to_ms) }
  return [() => log.warn('accounting.gap', 'the agent did not stop cleanly: counts may be missing', fields)]
}

function logLower({ clientId, epoch }: Report, lower: readonly JournalRow[], log: Log): AfterCommit[] {
  const [first, ...others] = lower
  if (!first) return []
  return [
    () =>
      log.warn('accounting.lower_value', 'a report has less than was committed; the committed value stays', {
        client_id: clientId,
        epoch,
        rule: first.ruleId,
        kind: first.kind,
        key: first.key,
        others: others.length
      })
  ]
}
