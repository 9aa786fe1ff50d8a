import type { Test } from 'tap'
import type { Counters } from '../../agent/engine/engine.ts'
import type { HostBoot } from '../../agent/journal/host-boot.ts'
import { type Batch, type Journal, openJournal } from '../../agent/journal/journal.ts'
import { openStateDatabase, type StateDatabase } from '../../agent/state/state-database.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'

export const webRule = { id: '01RULEWEB', owner: 'ann', targets: [{ host: 'web.internal', port: 80 }] }

const unknownHealth = {
  active: 0,
  health: 'unknown',
  consecutiveFailures: 0,
  failures: 0,
  connects: 0,
  connectMs: 0,
  lastFailureAt: null,
  lastSuccessAt: null,
  lastFailure: null,
  lastSource: 'traffic'
} as const

/** Returns cumulative engine counters of a rule with one port and one target. */
export const ruleCounters = (
  ruleId: number,
  [bytesIn, bytesOut]: readonly [number, number],
  more: Partial<Counters> & { readonly active?: number } = {}
): Counters => {
  const { active = 0, ...rest } = more
  return {
    ruleId,
    ports: [{ port: 8080, bytesIn, bytesOut, datagramsIn: 0, datagramsOut: 0, active }],
    targets: [{ bytesIn, bytesOut, connectionsTotal: 0, ...unknownHealth }],
    diverts: [],
    connectionsTotal: 0,
    dnsFailures: 0,
    targetFailovers: 0,
    flowsDroppedOverflow: 0,
    rejected: {},
    ...rest
  }
}

export interface OpenedJournal {
  readonly journal: Journal
  readonly db: StateDatabase
  readonly log: LogLine[]
}

/** Opens a journal in `dir`. A second one in the same directory acts as the next start of the agent. */
export function startJournal(
  t: Test,
  dir: string,
  clock: FakeClock = fakeClock(),
  boot?: HostBoot
): OpenedJournal {
  const db = openStateDatabase(dir, 'normal')
  t.teardown(() => db.close())
  const log: LogLine[] = []
  return { journal: openJournal({ db, clock, log: recordLog(log), boot }), db, log }
}

export const batches = (journal: Journal, limit = 500): Batch[] => [...journal.pending(limit)]

/** Returns the rows of all batches by `kind key`; throws if a row occurs twice. */
export function rowsOf(all: readonly Batch[]) {
  const rows = all.flatMap(batch => batch.rows.map(row => [`${row.kind} ${row.key}`.trim(), row] as const))
  const found = Object.fromEntries(rows)
  if (Object.keys(found).length !== rows.length) throw new Error('a row occurs twice')
  return found
}

/** Acknowledges all pending rows, as the server does. Returns the committed seq of each epoch. */
export function acknowledgeAll(journal: Journal, limit = 500): Record<string, number> {
  const committed: Record<string, number> = {}
  for (const { epoch, seq } of journal.pending(limit)) {
    journal.acknowledge(epoch, seq)
    committed[epoch] = seq
  }
  return committed
}
