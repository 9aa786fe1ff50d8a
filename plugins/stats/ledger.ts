// The record of reported totals. A report commits its difference to the one before, so a retransmission adds nothing.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openLinePerMinute, openRefusedRows } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import { committedBytes, compare, latestMinute, totalsOf } from './comparison.ts'
import { StatsEpoch } from './entities.ts'
import { type AfterCommit, type CommittedBytes, committedSlot, type JournalPosition } from './exports.ts'
import { judgeActive, judgeRows, type Report, windowAt } from './judgement.ts'
import { foldReasons, openRowLimit } from './row-limit.ts'
import type { ReportedRule, RuleOwners } from './rule-owners.ts'
import { addTotals, advanceEpoch, committedCounts, putRows, trimEpochs } from './tables.ts'
import { epochsSent, type JournalRow } from './wire.ts'

interface CommittedReport {
  readonly bytes: readonly CommittedBytes[]
  readonly isCompleted: boolean // the agent has nothing more to report
  readonly afterCommit: readonly AfterCommit[]
}

export type Ledger = ReturnType<typeof openLedger>

/** Each period is worth a line, and a host that does not stop cleanly more often than this has one problem. */
const gapLines = 20

interface Services extends Pick<Kernel, 'clock' | 'log' | 'filled'> {
  readonly owners: Pick<RuleOwners, 'of' | 'reported'>
  readonly activeConnections: Pick<ActiveConnections, 'report'>
}

export function openLedger({ clock, log, filled, owners, activeConnections }: Services) {
  const rowLimit = openRowLimit()
  const logRefused = openRefusedRows({ clock, log })
  const perMinute = openLinePerMinute(clock)
  const gapsPerMinute = openLinePerMinute(clock, gapLines)

  /** Commits reports in one transaction. Calls the fillers of `stats.committed`. */
  async function commit(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]> {
    const ids = reports.flatMap(({ rows, live }) => [...rows, ...live].map(({ rule_id }) => rule_id))
    const rules = await owners.of([...new Set(ids)], em)
    const committed: CommittedReport[] = []
    for (const report of reports) committed.push(await commitOne(report, rules, em))
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
    rules: ReadonlyMap<string, ReportedRule>,
    em: EntityManager
  ): Promise<CommittedReport> {
    const { clientId } = report
    const now = clock.now()
    const committedAt = await commitTime(clientId, now, em)
    const active = judgeActive(report, rules)
    const judged = judgeRows(report, rules, windowAt(clock, committedAt))
    const committed = await committedCounts(report, judged.own, em)
    const kept = await rowLimit.keep(clientId, judged.own, committed, em)
    const { grown, added, lower } = compare(kept.own, committed)
    await putRows(report, grown, em)
    await addTotals({ clientId, updatedAt: now }, totalsOf(await foldReasons(added, em)), em)
    const progress = { seq: report.seq, minute: latestMinute(grown), isComplete: report.last, committedAt }
    const { isNew, isCompleted } = await advanceEpoch(report, progress, em)
    if (isNew) await trimEpochs(clientId, em)
    const afterCommit = [
      () => activeConnections.report(report, active.own),
      () => logRefused(clientId, [...judged.refused, ...kept.refused, ...active.refused]),
      ...lower
        .slice(0, 1)
        .map(
          first => () =>
            perMinute(clientId, lower.length, suppressed => logLower(report, first, { log, suppressed }))
        ),
      ...(isNew && report.gap
        ? [() => gapsPerMinute(clientId, 1, suppressed => logGap(report, { log, suppressed }))]
        : [])
    ]
    return { bytes: committedBytes(clientId, added), isCompleted, afterCommit }
  }

  return { commit, committedSeqs, lastCommitted, rowsDeleted: rowLimit.reset }
}

/** Later than all commits of the client, though the clock was set back: it may have told the agent those times. */
async function commitTime(clientId: string, now: number, em: EntityManager): Promise<number> {
  const [last] = await latestEpochs(clientId, 1, em)
  return Math.max(now, (last?.bookedAt ?? 0) + 1)
}

const latestEpochs = (clientId: string, limit: number, em: EntityManager): Promise<StatsEpoch[]> =>
  em.find(StatsEpoch, { clientId }, { orderBy: { bookedAt: 'desc' }, limit, disableIdentityMap: true })

/** The committed seq of each of the client's latest epochs. */
async function committedSeqs(clientId: string, em: EntityManager): Promise<Record<string, number>> {
  const epochs = await latestEpochs(clientId, epochsSent, em)
  return Object.fromEntries(epochs.map(({ epoch, seq }) => [epoch, seq]))
}

async function lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null> {
  const [found] = await latestEpochs(clientId, 1, em)
  return found ? { epoch: found.epoch, seq: found.seq } : null
}

interface LineOfMinute {
  readonly log: Log
  readonly suppressed: number
}

function logGap({ clientId, epoch, gap }: Report, { log, suppressed }: LineOfMinute): void {
  if (!gap) return
  const [from, to] = [timestamp(gap.from_ms), timestamp(gap.to_ms)]
  const fields = { client_id: clientId, epoch, from, to, suppressed }
  log.warn('accounting.gap', 'the agent did not stop cleanly: counts may be missing', fields)
}

function logLower(
  { clientId, epoch }: Report,
  { ruleId: rule, kind, key }: JournalRow,
  { log, suppressed }: LineOfMinute
): void {
  const fields = { client_id: clientId, epoch, rule, kind, key, suppressed }
  log.warn(
    'accounting.lower_value',
    'a report has less than was committed; the committed value stays',
    fields
  )
}
