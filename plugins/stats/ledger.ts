// The record of reported totals. A report commits its difference to the one before, so a retransmission adds nothing.
import type { EntityManager } from '@mikro-orm/sql'
import { epochsSent, type JournalRow } from '../../agent/wire/journal-report.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openLinePerMinute, openRefusedRows } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import { committedBytes, latestMinute, totalsOf } from './comparison.ts'
import { StatsEpoch } from './entities.ts'
import { type AfterCommit, type CommittedBytes, committedSlot, type JournalPosition } from './exports.ts'
import type { Report } from './report-validation.ts'
import { openReview, type ReviewedReport } from './review.ts'
import { foldReasons } from './row-limit.ts'
import type { ReportedRule, RuleOwners } from './rule-owners.ts'
import { addTotals, advanceEpochs, putRows, trimEpochs } from './tables.ts'

interface CommittedReport {
  readonly clientId: string
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
  const { review, rowLimit } = openReview({ clock })
  const told = openNotices({ clock, log, activeConnections })

  /** Commits reports in one transaction. Calls the fillers of `stats.committed`. */
  async function commit(reports: readonly Report[], em: EntityManager): Promise<AfterCommit[]> {
    const ids = reports.flatMap(({ rows, live }) => [...rows, ...live].map(({ rule_id }) => rule_id))
    const rules = await owners.of([...new Set(ids)], em)
    const committed: CommittedReport[] = []
    for (const wave of wavesOf(reports)) committed.push(...(await commitWave(wave, rules, em)))
    const completed = committed.filter(({ isCompleted }) => isCompleted).map(({ clientId }) => clientId)
    await owners.reported([...new Set(completed)], em)
    const bytes = committed.flatMap(report => report.bytes)
    const afterCommit = committed.flatMap(report => report.afterCommit)
    if (bytes.length > 0)
      for (const { value: onCommitted } of filled(committedSlot))
        afterCommit.push(...(await onCommitted(bytes, em)))
    return afterCommit
  }

  /** Commits reports of different clients. */
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
      return { clientId, bytes, isCompleted, afterCommit: told(one, isNew) }
    })
  }

  return { commit, committedSeqs, lastCommitted, rowLimit }
}

/** Returns what has become of the epoch of each report. */
async function write(reviewed: readonly ReviewedReport[], now: number, em: EntityManager) {
  const grown = reviewed.map(({ of, grown: rows }) => ({ of, rows }))
  await putRows(grown, em)
  const added = await foldReasons(
    reviewed.map(one => one.added),
    em
  )
  const totals = reviewed.map(({ of }, at) => ({ of, rows: totalsOf(added[at] ?? []) }))
  await addTotals(totals, now, em)
  const progress = reviewed.map(({ of: { clientId, epoch, seq, last }, grown, committedAt }) => ({
    ...{ clientId, epoch, seq, minute: latestMinute(grown), isComplete: last, committedAt }
  }))
  const advanced = await advanceEpochs(progress, em)
  for (const [at, { of }] of reviewed.entries()) if (advanced[at]?.isNew) await trimEpochs(of.clientId, em)
  return advanced
}

/** What is told of a report that is committed: its connections, and what is wrong with it. */
function openNotices({
  clock,
  log,
  activeConnections
}: Pick<Services, 'clock' | 'log' | 'activeConnections'>) {
  const logRefused = openRefusedRows({ clock, log })
  const perMinute = openLinePerMinute(clock)
  const gapsPerMinute = openLinePerMinute(clock, gapLines)

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

/** Lists in which each client has one report: the next one of a client builds on the one before. */
function* wavesOf(reports: readonly Report[]): Iterable<readonly Report[]> {
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
  em.find(StatsEpoch, { clientId }, { orderBy: { bookedAt: 'desc' }, limit })

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
