// Turns two samples of an engine rule into changes of journal rows.

import type { Counters, PortCounters, TargetCounters } from '../engine/engine.ts'
import { type Counter, type Counts, counters } from '../wire/counters.ts'
import { targetKey } from '../wire/journal-report.ts'

type RowKind = 'minute' | 'hour' | 'rule' | 'port' | 'target' | 'rejected'

/** Counts to add to the row (rule, kind, key). */
export interface JournalChange {
  readonly ruleId: string
  readonly kind: RowKind
  readonly key: string // Unix seconds, port, host:port, reason; empty for 'rule'
  readonly added: Partial<Counts>
  readonly owner?: string // of the rule; absent: minutes were folded into an hour
}

/** A rule as the journal sees it; targets in the engine's order. */
export interface JournalRule {
  readonly id: string
  readonly owner: string
  readonly targets: readonly { readonly host: string; readonly port: number }[]
}

/** Returns the changes since the sample `before`; null: since the rule was opened. Omits rows that did not grow. */
export function journalChanges(
  { id: ruleId, owner, targets }: JournalRule,
  minute: number,
  now: Counters,
  before: Counters | null
): JournalChange[] {
  const change = <T>(
    [kind, key]: readonly [RowKind, string],
    countsOf: (source: T) => Partial<Counts>,
    [now, before]: readonly [T, T | null | undefined]
  ): JournalChange[] => {
    const added = difference(countsOf(now), before ? countsOf(before) : {})
    return Object.values(added).some(count => count > 0) ? [{ ruleId, owner, kind, key, added }] : []
  }
  return [
    ...change(['minute', String(minute)], minuteCounts, [now, before]),
    ...change(['rule', ''], ruleCounts, [now, before]),
    ...now.ports.flatMap((port, i) =>
      change(['port', String(port.port)], portCounts, [port, before?.ports[i]])
    ),
    ...now.targets.flatMap((target, i) =>
      change(['target', keyOf(targets[i])], targetCounts, [target, before?.targets[i]])
    ),
    ...Object.keys(now.rejected).flatMap(reason =>
      change(['rejected', reason], ({ rejected }) => ({ rejected: rejected[reason] ?? 0 }), [now, before])
    )
  ]
}

function difference(now: Partial<Counts>, before: Partial<Counts>): Partial<Counts> {
  const added: Partial<Record<Counter, number>> = {}
  for (const counter of counters) {
    const increase = (now[counter] ?? 0) - (before[counter] ?? 0)
    if (increase !== 0) added[counter] = increase
  }
  return added
}

function keyOf(target: JournalRule['targets'][number] | undefined): string {
  if (!target) throw new TypeError('the engine counts a target that the rule does not have')
  return targetKey(target)
}

// The engine's counters under the names of the journal's columns.

/** Bytes count only by minute. The other counts of a minute are also in the rows of the whole rule. */
const minuteCounts = ({ ports, rejected, ...rule }: Counters) => ({
  bytesIn: sum(ports, 'bytesIn'),
  bytesOut: sum(ports, 'bytesOut'),
  datagramsIn: sum(ports, 'datagramsIn'),
  datagramsOut: sum(ports, 'datagramsOut'),
  connections: rule.connectionsTotal,
  overflows: rule.flowsDroppedOverflow,
  rejected: Object.values(rejected).reduce((total, count) => total + count, 0)
})

/** Counts of the whole rule, without its bytes and rejections. */
const ruleCounts = ({ ports, ...rule }: Counters) => ({
  datagramsIn: sum(ports, 'datagramsIn'),
  datagramsOut: sum(ports, 'datagramsOut'),
  connections: rule.connectionsTotal,
  dnsFailures: rule.dnsFailures,
  failovers: rule.targetFailovers,
  overflows: rule.flowsDroppedOverflow
})

const portCounts = ({ bytesIn, bytesOut, datagramsIn, datagramsOut }: PortCounters) => ({
  bytesIn,
  bytesOut,
  datagramsIn,
  datagramsOut
})

const targetCounts = ({ bytesIn, bytesOut, connectionsTotal }: TargetCounters) => ({
  bytesIn,
  bytesOut,
  connections: connectionsTotal
})

const sum = (ports: readonly PortCounters[], counter: keyof ReturnType<typeof portCounts>): number =>
  ports.reduce((total, port) => total + port[counter], 0)
