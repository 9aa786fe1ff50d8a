// Validates the reports of several clients and compares them with the committed counts.
import type { EntityManager } from '@mikro-orm/sql'
import type { Counts } from '../../agent/wire/counters.ts'
import type { ActivePort } from '../../agent/wire/journal-report.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RefusedRow } from '../rules/exports.ts'
import { type Comparison, compare, without } from './comparison.ts'
import { type Report, reportWindow, toRefusedRow, validateActive, validateRows } from './report-validation.ts'
import { openRowLimit, type RowLimit } from './row-limit.ts'
import type { ReportedRule } from './rule-owners.ts'
import { committedCounts, lastCommits } from './tables.ts'

export interface ReviewedReport extends Comparison {
  readonly of: Report
  readonly committedAt: number
  readonly active: readonly ActivePort[]
  readonly refused: readonly RefusedRow[]
}

interface Review {
  /** Reviews at most one report per client. */
  review(
    wave: readonly Report[],
    rules: ReadonlyMap<string, ReportedRule>,
    em: EntityManager
  ): Promise<ReviewedReport[]>
  readonly rowLimit: RowLimit
}

export function openReview({ clock }: Pick<Kernel, 'clock'>): Review {
  const rowLimit = openRowLimit({ clock })

  async function review(
    wave: readonly Report[],
    rules: ReadonlyMap<string, ReportedRule>,
    em: EntityManager
  ): Promise<ReviewedReport[]> {
    const ids = wave.map(({ clientId }) => clientId)
    const times = await lastCommits(ids, em)
    // Later than all commits of the client even if the clock was set back: the agent may have received those times.
    const found = wave.map(of => {
      const committedAt = Math.max(clock.now(), (times.get(of.clientId) ?? 0) + 1)
      return { of, committedAt, rows: validateRows(of, rules, reportWindow(clock, committedAt)) }
    })
    const committed = await committedCounts(
      found.map(({ of, rows }) => ({ of, rows: rows.accepted })),
      em
    )
    const reports: ReviewedReport[] = []
    for (const { of, committedAt, rows } of found) {
      const before = committed.get(of.clientId) ?? new Map<string, Counts>()
      const compared = compare(rows.accepted, before)
      const over = await rowLimit.refuse(of.clientId, compared.fresh, em)
      const active = validateActive(of, rules)
      const refused = [
        ...rows.refused,
        ...[...over].map(row => toRefusedRow(row, 'limit')),
        ...active.refused
      ]
      reports.push({
        of,
        committedAt,
        active: active.accepted,
        refused,
        ...without(over, compared)
      })
    }
    return reports
  }

  return { review, rowLimit }
}
