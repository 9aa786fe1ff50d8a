import type { Counters } from '../engine.ts'

export type RowKind = 'minute' | 'hour' | 'rule' | 'port' | 'target' | 'rejected'

export interface Counts {
  readonly bytesIn: number
  readonly bytesOut: number
  readonly datagramsIn: number
  readonly datagramsOut: number
  readonly connections: number
  readonly dnsFailures: number
  readonly failovers: number
  readonly overflows: number
  readonly rejected: number
}

/** What is to be added to the row (rule, kind, key). */
export interface Change {
  readonly ruleId: string
  readonly kind: RowKind
  readonly key: string // Unix seconds, port, host:port, reason; empty for 'rule'
  readonly added: Partial<Counts>
  readonly owner?: string // whose rule it is; absent where nothing new was delivered
}

/** A rule as the journal counts it: targets in the engine's order. */
export interface JournalRule {
  readonly id: string
  readonly owner: string
  readonly targets: readonly { readonly host: string; readonly port: number }[]
}

/** What lies between two samples of one engine rule; before the first all is zero. */
export function changesOf(
  rule: JournalRule,
  minute: number,
  now: Counters,
  before: Counters | null
): Change[] {
  const ports = now.ports.map((port, i) => ({
    key: String(port.port),
    bytesIn: port.bytesIn - (before?.ports[i]?.bytesIn ?? 0),
    bytesOut: port.bytesOut - (before?.ports[i]?.bytesOut ?? 0),
    datagramsIn: port.datagramsIn - (before?.ports[i]?.datagramsIn ?? 0),
    datagramsOut: port.datagramsOut - (before?.ports[i]?.datagramsOut ?? 0)
  }))
  const targets = now.targets.map((target, i) => ({
    key: keyOf(rule.targets[i]),
    bytesIn: target.bytesIn - (before?.targets[i]?.bytesIn ?? 0),
    bytesOut: target.bytesOut - (before?.targets[i]?.bytesOut ?? 0),
    connections: target.connectionsTotal - (before?.targets[i]?.connectionsTotal ?? 0)
  }))
  const reasons = Object.entries(now.rejected).map(([key, count]) => ({
    key,
    rejected: count - (before?.rejected[key] ?? 0)
  }))
  const delivered = {
    key: String(minute),
    bytesIn: ports.reduce((sum, { bytesIn }) => sum + bytesIn, 0),
    bytesOut: ports.reduce((sum, { bytesOut }) => sum + bytesOut, 0)
  }
  const whole = {
    key: '',
    datagramsIn: ports.reduce((sum, { datagramsIn }) => sum + datagramsIn, 0),
    datagramsOut: ports.reduce((sum, { datagramsOut }) => sum + datagramsOut, 0),
    connections: now.connectionsTotal - (before?.connectionsTotal ?? 0),
    dnsFailures: now.dnsFailures - (before?.dnsFailures ?? 0),
    failovers: now.targetFailovers - (before?.targetFailovers ?? 0),
    overflows: now.flowsDroppedOverflow - (before?.flowsDroppedOverflow ?? 0)
  }
  const of = (kind: RowKind, rows: readonly ({ key: string } & Partial<Counts>)[]): Change[] =>
    rows
      .map(({ key, ...added }) => ({ ruleId: rule.id, owner: rule.owner, kind, key, added }))
      .filter(({ added }) => Object.values(added).some(count => count > 0))
  return [
    ...of('minute', [delivered]),
    ...of('rule', [whole]),
    ...of('port', ports),
    ...of('target', targets),
    ...of('rejected', reasons)
  ]
}

const keyOf = (target: JournalRule['targets'][number] | undefined): string => {
  if (!target) throw new TypeError('the engine counts a target that the rule does not have')
  return `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
}
