// What an agent's journal would report, in the words of a test.
import type { Clock } from '../kernel/base/clock.ts'
import type { Stats } from '../plugins/stats/exports.ts'
import { encodeRow, type JournalRow, noCounts } from '../plugins/stats/wire.ts'

interface Options {
  readonly clientId: string
  readonly books: () => Pick<Stats, 'ingest' | 'flush'>
  readonly clock: Clock
}

export type Delivered = Readonly<Partial<Record<'in' | 'out', number>>> // bytes

const epoch = '0'.repeat(32)

/** Reports hold the total of each minute; a test says what has come since. */
export function openJournal({ clientId, books, clock }: Options) {
  const rows = new Map<string, JournalRow>()
  let seq = 0

  return async (ruleId: string, { in: bytesIn = 0, out: bytesOut = 0 }: Delivered): Promise<void> => {
    const minute = String(Math.floor(clock.now() / 60_000) * 60)
    const before = rows.get(`${ruleId} ${minute}`) ?? { ...noCounts, ruleId, kind: 'minute', key: minute }
    const row = { ...before, bytesIn: before.bytesIn + bytesIn, bytesOut: before.bytesOut + bytesOut }
    rows.set(`${ruleId} ${minute}`, row)
    seq += 1
    const stats = books()
    const report = { clientId, epoch, seq, part: 0, last: true, rows: [encodeRow(row)], live: [] }
    const committed = stats.ingest(report)
    await stats.flush()
    await committed
  }
}
