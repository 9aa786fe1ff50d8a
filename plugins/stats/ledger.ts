// The ledger of reported totals. It commits only the increase over the last report, so a retransmission adds nothing.
import type { EntityManager } from '@mikro-orm/sql'
import { epochsSent, type JournalRow } from '../../agent/wire/journal-report.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openLinePerMinute, openRefusedRows } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import { committedBytes, committedTargets, latestMinute, sumByRule } from './comparison.ts'
import { StatsEpoch } from './entities.ts'
import {
  type AfterCommit,
  type CommittedBytes,
  type CommittedTarget,
  committedSlot,
  type JournalPosition
} from './exports.ts'
import type { Report } from './report-validation.ts'
import { openReview, type ReviewedReport } from './review.ts'
import { foldReasons, type RowLimit } from './row-limit.ts'
import type { ReportedRule, RuleOwners } from './rule-owners.ts'
import { addTotals, advanceEpochs, type EpochOutcome, putRows, trimEpochs } from './tables.ts'

interface CommittedReport {
  readonly clientId: string
  readonly bytes: readonly CommittedBytes[]
  readonly targets: readonly CommittedTarget[]
  readonly isCompleted: boolean // this was the last part of a report
  readonly afterCommit: readonly AfterCommit[]
}

export interface Ledger {
  /** Commits reports in one transaction. Calls the fillers of `stats.committed`. */
  commit(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]>
  /** Returns the committed seq of each of the client's latest epochs. */
  committedSeqs(clientId: string, em: EntityManager): Promise<Record<string, number>>
  /** Returns the position of the client's last committed report, or null before the first. */
  lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null>
  readonly rowLimit: RowLimit
}

const maxGapLines = 20 // per client and minute

interface Services extends Pick<Kernel, 'clock' | 'log' | 'filled'> {
  readonly owners: Pick<RuleOwners, 'load' | 'reported'>
  readonly activeConnections: Pick<ActiveConnections, 'report'>
}

export function openLedger({ clock, log, filled, owners, activeConnections }: Services): Ledger {
  const { review, rowLimit } = openReview({ clock })
  const afterCommitOf = openAfterCommit({ clock, log, activeConnections })

  async function commit(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]> {
    const ids = reports.flatMap(({ rows, live }) => [...rows, ...live].map(({ rule_id }) => rule_id))
    const rules = await owners.load([...new Set(ids)], em)
    const committed: CommittedReport[] = []
    for (const wave of splitIntoWaves(reports)) committed.push(...(await commitWave(wave, rules, em)))
    const completed = committed.filter(({ isCompleted }) => isCompleted).map(({ clientId }) => clientId)
    await owners.reported([...new Set(completed)], em)
    const bytes = committed.flatMap(report => report.bytes)
    const targets = committed.flatMap(report => report.targets)
    const afterCommit = committed.flatMap(report => report.afterCommit)
    if (bytes.length + targets.length > 0)
      for (const { value: onCommitted } of filled(committedSlot))
        afterCommit.push(...(await onCommitted(bytes, em, targets)))
    return afterCommit
  }

  /** Commits at most one report per client. */
  async function commitWave(
    wave: readonly Report[],
    rules: ReadonlyMap<string, ReportedRule>,
    em: EntityManager
  ): Promise<CommittedReport[]> {
    const now = clock.now()
    const reviewed = await review(wave, rules, em)
    const advanced = await write(reviewed, now, em)
    return reviewed.map((one, at) => {
      const { isNew = false, isCompleted = false } = advanced[at] ?? {}
      const { clientId } = one.of
      const bytes = committedBytes(clientId, one.added)
      const targets = committedTargets(clientId, one.added, Math.floor(now / 1000))
      return { clientId, bytes, targets, isCompleted, afterCommit: afterCommitOf(one, isNew) }
    })
  }

  return { commit, committedSeqs, lastCommitted, rowLimit }
}

/** Returns the progress of each report's epoch. */
async function write(
  reviewed: readonly ReviewedReport[],
  now: number,
  em: EntityManager
): Promise<EpochOutcome[]> {
  const grown = reviewed.map(({ of, grown: rows }) => ({ of, rows }))
  await putRows(grown, em)
  const added = await foldReasons(
    reviewed.map(one => one.added),
    em
  )
  const totals = reviewed.map(({ of }, at) => ({ of, rows: sumByRule(added[at] ?? []) }))
  await addTotals(totals, now, em)
  const progress = reviewed.map(({ of: { clientId, epoch, seq, last }, grown, committedAt }) => ({
    clientId,
    epoch,
    seq,
    minute: latestMinute(grown),
    isComplete: last,
    committedAt
  }))
  const advanced = await advanceEpochs(progress, em)
  for (const [at, { of }] of reviewed.entries()) if (advanced[at]?.isNew) await trimEpochs(of.clientId, em)
  return advanced
}

/** Returns actions for after the commit: publish active connections and log problems of the report. */
function openAfterCommit({
  clock,
  log,
  activeConnections
}: Pick<Services, 'clock' | 'log' | 'activeConnections'>) {
  const logRefused = openRefusedRows({ clock, log })
  const perMinute = openLinePerMinute(clock)
  const gapsPerMinute = openLinePerMinute(clock, maxGapLines)

  return ({ of, active, refused, lower }: ReviewedReport, isNew: boolean): AfterCommit[] => [
    () => activeConnections.report(of, active),
    () => logRefused(of.clientId, refused),
    ...lower
      .slice(0, 1)
      .map(
        first => () =>
          perMinute(of.clientId, lower.length, suppressed => logLower(of, first, { log, suppressed }))
      ),
    ...(isNew && of.gap
      ? [() => gapsPerMinute(of.clientId, 1, suppressed => logGap(of, { log, suppressed }))]
      : [])
  ]
}

/** Splits reports into waves with one report per client, because a client's reports build on each other. */
function* splitIntoWaves(reports: readonly Report[]): Iterable<readonly Report[]> {
  for (let left = reports; left.length > 0; ) {
    const clients = new Set<string>()
    const { first = [], later = [] } = Object.groupBy(left, ({ clientId }) => {
      if (clients.has(clientId)) return 'later'
      clients.add(clientId)
      return 'first'
    })
    yield first
    left = later
  }
}

const latestEpochs = (clientId: string, limit: number, em: EntityManager): Promise<StatsEpoch[]> =>
  em.find(StatsEpoch, { clientId }, { orderBy: { committedAt: 'desc' }, limit })

async function committedSeqs(clientId: string, em: EntityManager): Promise<Record<string, number>> {
  const epochs = await latestEpochs(clientId, epochsSent, em)
  return Object.fromEntries(epochs.map(({ epoch, seq }) => [epoch, seq]))
}

async function lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null> {
  const [found] = await latestEpochs(clientId, 1, em)
  return found ? { epoch: found.epoch, seq: found.seq } : null
}

interface LimitedLog {
  readonly log: Log
  readonly suppressed: number
}

function logGap({ clientId, epoch, gap }: Report, { log, suppressed }: LimitedLog): void {
  if (!gap) return
  const fields = {
    client_id: clientId,
    epoch,
    from: timestamp(gap.from_ms),
    to: timestamp(gap.to_ms),
    suppressed
  }
  log.warn('accounting.gap', 'the agent did not stop cleanly; counts may be missing', fields)
}

function logLower(
  { clientId, epoch }: Report,
  { ruleId: rule, kind, key }: JournalRow,
  { log, suppressed }: LimitedLog
): void {
  const fields = { client_id: clientId, epoch, rule, kind, key, suppressed }
  log.warn(
    'accounting.lower_value',
    'a report is below the committed value; the committed value stays',
    fields
  )
}
