// What counts of the reports of several clients, compared with what is committed.
import type { EntityManager } from '@mikro-orm/sql'
import type { Counts } from '../../agent/wire/counters.ts'
import type { ActivePort } from '../../agent/wire/journal-report.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RefusedRow } from '../rules/exports.ts'
import { compare } from './comparison.ts'
import { judgeActive, judgeRows, type Report, windowAt } from './report-validation.ts'
import { openRowLimit } from './row-limit.ts'
import type { ReportedRule } from './rule-owners.ts'
import { committedCounts, lastCommits } from './tables.ts'

export interface ReviewedReport extends ReturnType<typeof compare> {
  readonly of: Report
  readonly committedAt: number
  readonly active: readonly ActivePort[]
  readonly refused: readonly RefusedRow[]
}

export function openReview({ clock }: Pick<Kernel, 'clock'>) {
  const rowLimit = openRowLimit({ clock })

  /** No two reports are of one client. */
  async function review(
    wave: readonly Report[],
    rules: ReadonlyMap<string, ReportedRule>,
    em: EntityManager
  ): Promise<ReviewedReport[]> {
    const ids = wave.map(({ clientId }) => clientId)
    const times = await lastCommits(ids, em)
    // Later than all commits of the client, though the clock was set back: it may have told the agent those times.
    const found = wave.map(of => {
      const committedAt = Math.max(clock.now(), (times.get(of.clientId) ?? 0) + 1)
      return { of, committedAt, judged: judgeRows(of, rules, windowAt(clock, committedAt)) }
    })
    const committed = await committedCounts(
      found.map(({ of, judged }) => ({ of, rows: judged.own })),
      em
    )
    const reports: ReviewedReport[] = []
    for (const { of, committedAt, judged } of found) {
      const before = committed.get(of.clientId) ?? new Map<string, Counts>()
      const kept = await rowLimit.keep(of.clientId, judged.own, before, em)
      const active = judgeActive(of, rules)
      const refused = [...judged.refused, ...kept.refused, ...active.refused]
      reports.push({ of, committedAt, active: active.own, refused, ...compare(kept.own, before) })
    }
    return reports
  }

  return { review, rowLimit }
}
