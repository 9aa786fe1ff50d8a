// Logs rows that an agent must not report. Such a row is dropped; the other rows of its report count.
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

/** The first refused row of a report. */
export interface RefusedRow {
  readonly report: 'stats' | 'active' | 'bans' | 'health' | 'waits' | 'peeks' | 'journal' | 'connections'
  readonly reason: string // 'rule': the rule is not on the client; else the name of the wrong property
  readonly rule?: string
  readonly kind?: string
  readonly key?: string
}

const minuteMs = 60_000

/** Writes the first `lines` lines of each key and minute, and the number of suppressed rows when the minute ends. */
export function openLinePerMinute(clock: Clock, lines = 1) {
  const minutes = new Map<string, { written: number; suppressed: number }>() // by key, while its minute lasts

  return (key: string, rows: number, write: (suppressed: number) => void): void => {
    const minute = minutes.get(key) ?? { written: 0, suppressed: 0 }
    const isWritten = minute.written < lines
    if (isWritten) minute.written++
    minute.suppressed += isWritten ? rows - 1 : rows
    if (isWritten) write(0)
    if (minutes.has(key)) return
    minutes.set(key, minute)
    clock.after(minuteMs, () => {
      minutes.delete(key)
      if (minute.suppressed > 0) write(minute.suppressed)
    })
  }
}

/** Logs the first row, once for each client and minute, and the number of suppressed rows at the end of the minute. */
export type RefusedRows = (client: string, rows: readonly RefusedRow[]) => void

export function openRefusedRows({ clock, log }: Pick<Kernel, 'clock' | 'log'>): RefusedRows {
  const throttled = openLinePerMinute(clock)

  return (client, [first, ...others]) => {
    if (!first) return
    const { report, reason, rule, kind, key } = first
    throttled(client, 1 + others.length, suppressed =>
      log.warn('agent.row_refused', 'ignored a row that the agent is not allowed to report', {
        client,
        report,
        reason,
        rule,
        kind,
        key,
        suppressed
      })
    )
  }
}
