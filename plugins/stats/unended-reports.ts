import type { Kernel } from '../../kernel/plugin.ts'
import type { Report } from './report-validation.ts'

/** Longer than an agent takes to report the largest journal. */
const longestMs = 5 * 60_000

interface Unended {
  since: number
  parts: number
}

export interface UnendedReports {
  /** Takes a part of a report, and logs its client if it has sent parts for 5 minutes without a last one. */
  part(report: Pick<Report, 'clientId' | 'last'>): void
  forget(clientId: string): void
}

export function openUnendedReports({ clock, log }: Pick<Kernel, 'clock' | 'log'>): UnendedReports {
  const unended = new Map<string, Unended>() // by connected client

  return {
    part({ clientId, last }) {
      if (last) return void unended.delete(clientId)
      const now = clock.monotonic()
      const report = unended.get(clientId) ?? { since: now, parts: 0 }
      unended.set(clientId, report)
      report.parts += 1
      if (now - report.since < longestMs) return
      log.warn(
        'accounting.report_unended',
        `the agent has sent ${report.parts} parts of a report for 5 minutes without the last; its open connections are not updated`,
        { client_id: clientId, parts: report.parts }
      )
      report.since = now
    },
    forget: clientId => void unended.delete(clientId)
  }
}
