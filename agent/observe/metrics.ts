import type { Metric } from '../../plugins/metrics/wire.ts'
import { type Counters, type PortCounters, peekBoundsMs, type Sample } from '../engine.ts'

/** A rule, and the counters of each of its runs in the engine. */
export type RuleCounters = readonly [rule: string, runs: readonly Counters[]]

interface MetricsInput {
  readonly rules: readonly RuleCounters[]
  readonly sample: Sample
  readonly isConnected: boolean
}

/** Names differ from the server's, so that a query over server and agents does not count a byte twice. */
export function metricsOf({ rules, sample, isConnected }: MetricsInput): readonly Metric[] {
  const perRule = (name: string, help: string, count: Count): Metric => ({
    name: `svc_agent_rule_${name}`,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    help,
    labels: ['rule'],
    samples: rules.map(([rule, runs]) => ({ labelValues: [rule], value: sum(runs, count) }))
  })
  const inAndOut = (what: string, help: string, countIn: Count, countOut: Count): Metric => ({
    ...perRule(`${what}_total`, help, countIn),
    labels: ['rule', 'direction'],
    samples: rules.flatMap(([rule, runs]) => [
      { labelValues: [rule, 'in'], value: sum(runs, countIn) },
      { labelValues: [rule, 'out'], value: sum(runs, countOut) }
    ])
  })
  const single = (name: string, type: 'gauge' | 'counter', help: string, value: number): Metric => ({
    name: `svc_agent_${name}`,
    type,
    help,
    labels: [],
    samples: [{ labelValues: [], value }]
  })
  const throttledMs = sum(sample.meters, meter => meter.throttledMs)
  return [
    single('connected', 'gauge', '1 while the control stream is up.', isConnected ? 1 : 0),
    single('rules', 'gauge', 'Rules that are open.', rules.length),
    single('meters', 'gauge', 'Meters in use: of rules, owners and quotas.', sample.meters.length),
    single('throttle_wait_seconds', 'gauge', 'Waits for bandwidth, of meters in use.', throttledMs / 1000),
    single('engine_events_dropped_total', 'counter', 'Advisory events dropped.', sample.eventsDropped),
    inAndOut('bytes', 'Payload bytes delivered.', ofPorts('bytesIn'), ofPorts('bytesOut')),
    inAndOut('datagrams', 'Datagrams delivered.', ofPorts('datagramsIn'), ofPorts('datagramsOut')),
    perRule('active', 'Open connections and flows.', ofPorts('active')),
    perRule('connections_total', 'Connections and flows.', counters => counters.connectionsTotal),
    perRule('dns_failures_total', 'Failed lookups of targets.', counters => counters.dnsFailures),
    perRule('target_failovers_total', 'Failovers to other targets.', counters => counters.targetFailovers),
    perRule('flows_dropped_overflow_total', 'Dropped at the flow cap.', ({ flowsDroppedOverflow: n }) => n),
    rejections(rules),
    peekDurations(sample)
  ]
}

type Count = (counters: Counters) => number

const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0)

const ofPorts =
  (name: Exclude<keyof PortCounters, 'port'>): Count =>
  ({ ports }) =>
    sum(ports, port => port[name])

const rejections = (rules: readonly RuleCounters[]): Metric => ({
  name: 'svc_agent_rule_rejected_total',
  type: 'counter',
  help: 'Connections and datagrams that were refused.',
  labels: ['rule', 'reason'],
  samples: rules.flatMap(([rule, runs]) =>
    [...new Set(runs.flatMap(({ rejected }) => Object.keys(rejected)))].map(reason => ({
      labelValues: [rule, reason],
      value: sum(runs, ({ rejected }) => rejected[reason] ?? 0)
    }))
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
