// The metric families of an agent: counters of the engine by rule and by target.
import {
  type Counters,
  type DivertCounters,
  type Metric,
  type PortCounters,
  peekBoundsMs,
  type Sample,
  type TargetStanding
} from '../../../agent/plugin.ts'
import { buildInfo } from '../wire.ts'

/** The current state of one of several targets of a rule. */
export interface TargetNow extends Pick<TargetStanding, 'share' | 'ejections'> {
  readonly rule: string
  readonly target: string // host:port
  readonly active: number
}

/** A rule, and the counters of each of its runs in the engine. */
export type RuleCounters = readonly [rule: string, runs: readonly Counters[]]

export interface AgentState {
  readonly engine: string
  readonly open: number // rules
  readonly isConnected: boolean
}

/** Returns all metrics of an agent, including those without samples. */
export const agentMetrics = (
  { engine, open, isConnected }: AgentState,
  rules: readonly RuleCounters[],
  sample: Sample,
  targets: readonly TargetNow[] = []
): readonly Metric[] => [
  buildInfo('svc_agent_build_info', { engine }),
  single('rules', 'Rules that are open.', open),
  single('connected', '1 while the control stream is up.', isConnected ? 1 : 0),
  ...engineMetrics(rules, sample),
  perTarget(targets, 'active', 'Open connections and flows of the target.', ({ active }) => active),
  perTarget(targets, 'share', 'Share of its weight that the target gets; 0: ejected.', ({ share }) => share),
  perTarget(targets, 'ejections_total', 'Ejections of the target.', ({ ejections }) => ejections)
]

const perTarget = (
  targets: readonly TargetNow[],
  name: string,
  help: string,
  read: (target: TargetNow) => number
): Metric => ({
  name: `svc_agent_rule_target_${name}`,
  type: metricType(name),
  help,
  labels: ['rule', 'target'],
  samples: targets.map(one => ({ labelValues: [one.rule, one.target], value: read(one) }))
})

/** Names differ from the server's, so that a query over server and agents does not count a byte twice. */
const single = (name: string, help: string, value: number): Metric => ({
  name: `svc_agent_${name}`,
  type: metricType(name),
  help,
  labels: [],
  samples: [{ labelValues: [], value }]
})

function engineMetrics(rules: readonly RuleCounters[], sample: Sample): readonly Metric[] {
  const perRule = (name: string, help: string, count: Count): Metric => ({
    name: `svc_agent_rule_${name}`,
    type: metricType(name),
    help,
    labels: ['rule'],
    samples: rules.map(([rule, runs]) => ({ labelValues: [rule], value: addUp(runs, count) }))
  })
  const inAndOut = (name: string, help: string, countIn: Count, countOut: Count): Metric => ({
    ...perRule(name, help, countIn),
    labels: ['rule', 'direction'],
    samples: rules.flatMap(([rule, runs]) => [
      { labelValues: [rule, 'in'], value: addUp(runs, countIn) },
      { labelValues: [rule, 'out'], value: addUp(runs, countOut) }
    ])
  })
  const throttledMs = addUp(sample.meters, meter => meter.throttledMs)
  return [
    single('meters', 'Meters in use: of rules, owners and quotas.', sample.meters.length),
    single('throttle_wait_seconds', 'Waits for bandwidth, of meters in use.', throttledMs / 1000),
    single('engine_events_dropped_total', 'Advisory events dropped.', sample.eventsDropped),
    inAndOut('bytes_total', 'Payload bytes delivered.', sumPorts('bytesIn'), sumPorts('bytesOut')),
    inAndOut('datagrams_total', 'Datagrams delivered.', sumPorts('datagramsIn'), sumPorts('datagramsOut')),
    perRule('active', 'Open connections and flows.', sumPorts('active')),
    perRule('connections_total', 'Connections and flows.', counters => counters.connectionsTotal),
    perRule('dns_failures_total', 'Failed lookups of targets.', counters => counters.dnsFailures),
    perRule('target_failovers_total', 'Failovers to other targets.', counters => counters.targetFailovers),
    perRule('flows_dropped_overflow_total', 'Dropped at the flow cap.', ({ flowsDroppedOverflow: n }) => n),
    rejections(rules),
    ...diverted(rules),
    peekDurations(sample)
  ]
}

const metricType = (name: string) => (name.endsWith('_total') ? 'counter' : 'gauge')

type Count = (counters: Counters) => number

const sumPorts =
  (name: Exclude<keyof PortCounters, 'port'>): Count =>
  ({ ports }) =>
    addUp(ports, port => port[name])

const rejections = (rules: readonly RuleCounters[]): Metric => ({
  name: 'svc_agent_rule_rejected_total',
  type: 'counter',
  help: 'Connections and datagrams that were refused.',
  labels: ['rule', 'reason'],
  samples: rules.flatMap(([rule, runs]) =>
    [...new Set(runs.flatMap(({ rejected }) => Object.keys(rejected)))].map(reason => ({
      labelValues: [rule, reason],
      value: addUp(runs, ({ rejected }) => rejected[reason] ?? 0)
    }))
  )
})

type DivertCount = (counters: DivertCounters) => number

/** A series for each divert that a rule has or has had. */
function diverted(rules: readonly RuleCounters[]): readonly Metric[] {
  const perDivert = (name: string, help: string, read: Readonly<Record<string, DivertCount>>): Metric => ({
    name: `svc_agent_rule_diverted_${name}`,
    type: metricType(name),
    help,
    labels: ['rule', 'divert', ...('' in read ? [] : ['direction'])],
    samples: rules.flatMap(([rule, runs]) => {
      const all = [
        ...Map.groupBy(
          runs.flatMap(({ diverts }) => diverts),
          ({ name }) => name
        )
      ]
      return all.flatMap(([divert, counters]) =>
        Object.entries(read).map(([direction, count]) => ({
          labelValues: [rule, divert, ...(direction === '' ? [] : [direction])],
          value: addUp(counters, count)
        }))
      )
    })
  })
  return [
    perDivert('active', 'Open connections and flows to targets of the divert.', { '': one => one.active }),
    perDivert('connections_total', 'Connections and flows to targets of the divert.', {
      '': one => one.connectionsTotal
    }),
    perDivert('bytes_total', 'Payload bytes delivered; `bytes_total` of the rule includes them.', {
      in: one => one.bytesIn,
      out: one => one.bytesOut
    })
  ]
}

const peekDurations = ({ peekDurations: { counts, sumMs } }: Sample): Metric => ({
  name: 'svc_agent_tls_client_hello_peek_duration_seconds',
  type: 'histogram',
  help: 'Time until the TLS name of a caller was known.',
  labels: [],
  samples: [
    { labelValues: [], value: { bounds: peekBoundsMs.map(ms => ms / 1000), counts, sum: sumMs / 1000 } }
  ]
})

export const addUp = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0)
