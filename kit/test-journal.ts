// Reports traffic to the plugin stats like an agent's journal does.

import { noCounts } from '../agent/wire/counters.ts'
import { encodeRow, type JournalRow } from '../agent/wire/journal-report.ts'
import type { Clock } from '../kernel/base/clock.ts'
import type { Session } from '../kernel/control/servers.ts'
import type { Stats } from '../plugins/stats/exports.ts'

export type Delivered = Readonly<Partial<Record<'in' | 'out', number>>> // bytes

const epoch = '0'.repeat(32)

/** Returns a function that reports more bytes of a rule: it adds them to the minute's total, which reports carry. */
export function openTestJournal(session: () => Session, stats: () => Stats, clock: Clock) {
  const rows = new Map<string, JournalRow>()
  let seq = 0

  return async (ruleId: string, { in: bytesIn = 0, out: bytesOut = 0 }: Delivered): Promise<void> => {
    const minute = String(Math.floor(clock.now() / 60_000) * 60)
    const before = rows.get(`${ruleId} ${minute}`) ?? { ...noCounts, ruleId, kind: 'minute', key: minute }
    const row = { ...before, bytesIn: before.bytesIn + bytesIn, bytesOut: before.bytesOut + bytesOut }
    rows.set(`${ruleId} ${minute}`, row)
    seq += 1
    const report = { ...session(), epoch, seq, part: 0, last: true, rows: [encodeRow(row)], live: [] }
    const committed = stats().ingest(report)
    await stats().flush()
    await committed
  }
}
