import type { Metric } from '../../plugins/metrics/wire.ts'
import { type Counts, noCounts, plus } from '../../plugins/stats/wire.ts'
import { type Counters, peekBoundsMs, type Sample } from '../engine.ts'
import { ruleBytes, ruleCounts } from '../journal/engine-counts.ts'

interface RuleCounts extends Omit<Counts, 'rejected'> {
  readonly rule: string
  readonly active: number
  readonly rejected: ReadonlyMap<string, number>
}

interface MetricsInput {
  readonly rules: readonly RuleCounts[]
  readonly sample: Sample
  readonly isConnected: boolean
}

/** Sums the counters of all runs of one rule in the engine. */
export function sumCounters(rule: string, all: readonly Counters[]): RuleCounts {
  const counts = all.map(counters => ({ ...noCounts, ...ruleBytes(counters), ...ruleCounts(counters) }))
  const ports = all.flatMap(({ ports }) => ports)
  const rejected = new Map<string, number>()
  for (const [reason, count] of all.flatMap(counters => Object.entries(counters.rejected)))
    rejected.set(reason, (rejected.get(reason) ?? 0) + count)
  return {
    ...counts.reduce(plus, noCounts),
    rule,
    active: ports.reduce((sum, { active }) => sum + active, 0),
    rejected
  }
}

/** Names differ from the server's, so that a query over server and agents does not count a byte twice. */
export function metricsOf({ rules, sample, isConnected }: MetricsInput): readonly Metric[] {
  const perRule = (name: string, help: string, of: (counts: RuleCounts) => number): Metric => ({
    name: `svc_agent_rule_${name}`,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    help,
    labels: ['rule'],
    samples: rules.map(counts => ({ labelValues: [counts.rule], value: of(counts) }))
  })
  const single = (name: string, type: 'gauge' | 'counter', help: string, value: number): Metric => ({
    name: `svc_agent_${name}`,
    type,
    help,
    labels: [],
    samples: [{ labelValues: [], value }]
  })
  const throttledMs = sample.meters.reduce((sum, meter) => sum + meter.throttledMs, 0)
  return [
    single('connected', 'gauge', '1 while the control stream is up.', isConnected ? 1 : 0),
    single('rules', 'gauge', 'Rules that are open.', rules.length),
    single('meters', 'gauge', 'Meters in use: of rules, owners and quotas.', sample.meters.length),
    single(
      'throttle_wait_seconds',
      'gauge',
      'Time that connections waited for bandwidth, of meters in use.',
      throttledMs / 1000
    ),
    single(
      'engine_events_dropped_total',
      'counter',
      'Advisory engine events that were dropped under load.',
      sample.eventsDropped
    ),
    inAndOut(rules, 'bytes', 'Payload bytes delivered.', ['bytesIn', 'bytesOut']),
    inAndOut(rules, 'datagrams', 'Datagrams delivered.', ['datagramsIn', 'datagramsOut']),
    perRule('active', 'Connections and flows that are open.', ({ active }) => active),
    perRule('connections_total', 'Connections and flows accepted.', ({ connections }) => connections),
    perRule('dns_failures_total', 'Target names that did not resolve.', ({ dnsFailures }) => dnsFailures),
    perRule(
      'target_failovers_total',
      'Connections and flows that failed over to another target.',
      ({ failovers }) => failovers
    ),
    perRule(
      'flows_dropped_overflow_total',
      'Datagrams dropped because the rule had its maximum of flows.',
      ({ overflows }) => overflows
    ),
    rejections(rules),
    peekDurations(sample)
  ]
}

type CounterName = 'bytesIn' | 'bytesOut' | 'datagramsIn' | 'datagramsOut'

const inAndOut = (
  rules: readonly RuleCounts[],
  what: string,
  help: string,
  [inbound, outbound]: readonly [CounterName, CounterName]
): Metric => ({
  name: `svc_agent_rule_${what}_total`,
  type: 'counter',
  help,
  labels: ['rule', 'direction'],
  samples: rules.flatMap(counts => [
    { labelValues: [counts.rule, 'in'], value: counts[inbound] },
    { labelValues: [counts.rule, 'out'], value: counts[outbound] }
  ])
})

const rejections = (rules: readonly RuleCounts[]): Metric => ({
  name: 'svc_agent_rule_rejected_total',
  type: 'counter',
  help: 'Connections and datagrams that were refused.',
  labels: ['rule', 'reason'],
  samples: rules.flatMap(({ rule, rejected }) =>
    [...rejected].map(([reason, value]) => ({ labelValues: [rule, reason], value }))
  )
})

const peekDurations = ({ peekDurations: { counts, sumMs } }: Sample): Metric => ({
  name: 'svc_agent_tls_client_hello_peek_duration_seconds',
  type: 'histogram',
  help: 'Time until the TLS name of a caller was known.',
  labels: [],
  samples: [
    { labelValues: [], value: { bounds: peekBoundsMs.map(ms => ms / 1000), counts, sum: sumMs / 1000 } }
  ]
})
