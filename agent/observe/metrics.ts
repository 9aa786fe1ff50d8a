// The agent's /metrics: counters of the engine since the start, and whether the control stream is up. And its health.
import {
  buildInfo,
  livePage,
  type Metric,
  openListener,
  openScrape,
  readinessOf,
  readyPage
} from '../../plugins/metrics/wire.ts'
import {
  type Counters,
  type EngineTarget,
  type PortCounters,
  peekBoundsMs,
  type Sample
} from '../engine/engine.ts'
import type { AgentPlugin, AgentRules, PluginMetrics, TargetStanding } from '../plugin.ts'
import { checksOf } from './readiness.ts'

/** A target of a rule with several, as it is now. */
export interface TargetNow extends Pick<TargetStanding, 'share' | 'ejections'> {
  readonly rule: string
  readonly target: string // host:port
  readonly active: number
}

/** A rule, and the counters of each of its runs in the engine. */
type RuleCounters = readonly [rule: string, runs: readonly Counters[]]

/** Serves /metrics. An internal plugin, so that no other part of the agent depends on metrics. */
export function metricsPlugin(listen: string, engine: string): AgentPlugin {
  // The engine's counters restart when a rule is reopened; the sums include the counters of its earlier runs.
  const ended = new Map<string, Counters>()
  let streams = 0

  return {
    name: 'metrics',
    agent: '^1.0.0',
    event(event, { rules }) {
      if (event.kind !== 'closed') return
      const rule = rules.find(event.counters.ruleId)?.id
      if (rule !== undefined) ended.set(rule, plus(event.counters, ended.get(rule)))
    },
    connected({ signal }) {
      streams++
      signal.addEventListener('abort', () => streams--, { once: true })
    },
    async start(scope) {
      const { rules, takeSample, clock, log } = scope.call
      async function collect(): Promise<readonly Metric[]> {
        const sample = takeSample()
        const live = Map.groupBy(sample.rules, ({ ruleId }) => rules.find(ruleId)?.id ?? '')
        live.delete('')
        for (const rule of ended.keys()) if (!live.has(rule)) ended.delete(rule) // a removed rule has no series
        const all = [...live].map(
          ([rule, runs]): RuleCounters => [rule, [...runs, ...[ended.get(rule) ?? []].flat()]]
        )
        const closed = rules.closed()
        const open = all.filter(([rule]) => rules.isOpen(rule) && !closed.has(rule)).length
        const targets = [...live].flatMap(([rule, runs]) => targetsOf(rule, runs, rules))
        return agentMetrics({ engine, open, isConnected: streams > 0 }, all, sample, targets)
      }
      const all = () => [{ by: 'agent', value: collect }, ...scope.metrics.map(bounded)]
      const scrape = openScrape({ metrics: all, clock, log })
      const pages = [livePage, readyPage(async () => readinessOf(checksOf(scope.call, streams > 0)))]
      const { port, close } = await openListener({ listen, scrape, pages, clock, log })
      scope.defer(close)
      log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
    }
  }
}

interface AgentState {
  readonly engine: string
  readonly open: number // rules
  readonly isConnected: boolean
}

/** Returns all metrics of an agent, those without a sample, too. */
export const agentMetrics = (
  { engine, open, isConnected }: AgentState,
  rules: readonly RuleCounters[],
  sample: Sample,
  targets: readonly TargetNow[] = []
): readonly Metric[] => [
  buildInfo('svc_agent_build_info', { engine }),
  single('rules', 'Rules that are open.', open),
  single('connected', '1 while the control stream is up.', isConnected ? 1 : 0),
  ...metricsOf(rules, sample),
  perTarget(targets, 'active', 'Open connections and flows of the target.', ({ active }) => active),
  perTarget(
    targets,
    'share',
    'The part of its weight that the target gets; 0: ejected.',
    ({ share }) => share
  ),
  perTarget(targets, 'ejections_total', 'Ejections of the target.', ({ ejections }) => ejections)
]

/** The targets of a rule that has several; connections of earlier runs of the rule count where they are. */
function targetsOf(
  rule: string,
  runs: readonly Counters[],
  { find, standings }: Pick<AgentRules, 'find' | 'standings'>
): TargetNow[] {
  const rows = runs.flatMap(({ ruleId, targets }) => {
    const named = find(ruleId)?.targets ?? []
    return targets.map(({ active }, at) => ({ target: hostAndPort(named[at]), active }))
  })
  const spec = find(runs.at(-1)?.ruleId ?? 0)
  if (!spec || spec.targets.length < 2) return []
  const current = standings(rule)
  return spec.targets.flatMap((one, at) => {
    const target = hostAndPort(one)
    if (spec.targets.findIndex(other => hostAndPort(other) === target) < at) return [] // it is there twice
    const active = sum(rows, row => (row.target === target ? row.active : 0))
    const { share = 1, ejections = 0 } = current[at] ?? {}
    return [{ rule, target, active, share, ejections }]
  })
}

const hostAndPort = ({ host, port }: Partial<EngineTarget> = {}): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

const perTarget = (
  targets: readonly TargetNow[],
  name: string,
  help: string,
  read: (target: TargetNow) => number
): Metric => ({
  name: `svc_agent_rule_target_${name}`,
  type: typeOf(name),
  help,
  labels: ['rule', 'target'],
  samples: targets.map(one => ({ labelValues: [one.rule, one.target], value: read(one) }))
})

const maxSeries = 1000 // of one plugin

/** Puts the plugin's prefix before the names. Throws beyond the bound: a rule may be gone, its series would stay at Prometheus. */
const bounded = ({ by, value }: PluginMetrics): PluginMetrics => ({
  by,
  async value() {
    let series = 0
    return (await value()).map(metric => {
      const samples = [...metric.samples]
      series += samples.length
      if (series > maxSeries) throw new RangeError(`they have more than ${maxSeries} series`)
      return { ...metric, name: `svc_agent_${by.replaceAll('-', '_')}_${metric.name}`, samples }
    })
  }
})

/** Adds the counters of a run to those of earlier runs, in one: a rule may be opened any number of times. */
function plus(run: Counters, earlier: Counters | undefined): Counters {
  if (!earlier) return { ...run, ports: [total(run.ports)], targets: [] }
  const reasons = new Set([...Object.keys(run.rejected), ...Object.keys(earlier.rejected)])
  return {
    ...run,
    ports: [total([...run.ports, ...earlier.ports])],
    targets: [],
    connectionsTotal: run.connectionsTotal + earlier.connectionsTotal,
    dnsFailures: run.dnsFailures + earlier.dnsFailures,
    targetFailovers: run.targetFailovers + earlier.targetFailovers,
    flowsDroppedOverflow: run.flowsDroppedOverflow + earlier.flowsDroppedOverflow,
    rejected: Object.fromEntries(
      [...reasons].map(reason => [reason, (run.rejected[reason] ?? 0) + (earlier.rejected[reason] ?? 0)])
    )
  }
}

const total = (ports: readonly PortCounters[]): PortCounters => ({
  port: 0,
  bytesIn: sum(ports, ({ bytesIn }) => bytesIn),
  bytesOut: sum(ports, ({ bytesOut }) => bytesOut),
  datagramsIn: sum(ports, ({ datagramsIn }) => datagramsIn),
  datagramsOut: sum(ports, ({ datagramsOut }) => datagramsOut),
  active: sum(ports, ({ active }) => active)
})

/** Names differ from the server's, so that a query over server and agents does not count a byte twice. */
const single = (name: string, help: string, value: number): Metric => ({
  name: `svc_agent_${name}`,
  type: typeOf(name),
  help,
  labels: [],
  samples: [{ labelValues: [], value }]
})

function metricsOf(rules: readonly RuleCounters[], sample: Sample): readonly Metric[] {
  const perRule = (name: string, help: string, count: Count): Metric => ({
    name: `svc_agent_rule_${name}`,
    type: typeOf(name),
    help,
    labels: ['rule'],
    samples: rules.map(([rule, runs]) => ({ labelValues: [rule], value: sum(runs, count) }))
  })
  const inAndOut = (name: string, help: string, countIn: Count, countOut: Count): Metric => ({
    ...perRule(name, help, countIn),
    labels: ['rule', 'direction'],
    samples: rules.flatMap(([rule, runs]) => [
      { labelValues: [rule, 'in'], value: sum(runs, countIn) },
      { labelValues: [rule, 'out'], value: sum(runs, countOut) }
    ])
  })
  const throttledMs = sum(sample.meters, meter => meter.throttledMs)
  return [
    single('meters', 'Meters in use: of rules, owners and quotas.', sample.meters.length),
    single('throttle_wait_seconds', 'Waits for bandwidth, of meters in use.', throttledMs / 1000),
    single('engine_events_dropped_total', 'Advisory events dropped.', sample.eventsDropped),
    inAndOut('bytes_total', 'Payload bytes delivered.', ofPorts('bytesIn'), ofPorts('bytesOut')),
    inAndOut('datagrams_total', 'Datagrams delivered.', ofPorts('datagramsIn'), ofPorts('datagramsOut')),
    perRule('active', 'Open connections and flows.', ofPorts('active')),
    perRule('connections_total', 'Connections and flows.', counters => counters.connectionsTotal),
    perRule('dns_failures_total', 'Failed lookups of targets.', counters => counters.dnsFailures),
    perRule('target_failovers_total', 'Failovers to other targets.', counters => counters.targetFailovers),
    perRule('flows_dropped_overflow_total', 'Dropped at the flow cap.', ({ flowsDroppedOverflow: n }) => n),
    rejections(rules),
    peekDurations(sample)
  ]
}

const typeOf = (name: string) => (name.endsWith('_total') ? 'counter' : 'gauge')

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
