// The agent's /metrics (counters of the engine and the state of the control stream) and its health pages.
import type {
  AgentPlugin,
  AgentRules,
  Counters,
  EngineTarget,
  Metric,
  PluginMetrics,
  PortCounters
} from '../../agent/plugin.ts'
import { addUp, agentMetrics, type RuleCounters, type TargetNow } from './agent/families.ts'
import { runChecks } from './agent/readiness.ts'
import { livePage, openHostCheck, openListener, openScrape, readyPage, toReadinessAnswer } from './wire.ts'

export { tryListen } from './wire.ts'

/** Serves /metrics. It is a plugin so that no other part of the agent depends on metrics. */
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
      if (rule !== undefined) ended.set(rule, addRun(event.counters, ended.get(rule)))
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
        const targets = [...live].flatMap(([rule, runs]) => listTargets(rule, runs, rules))
        return agentMetrics({ engine, open, isConnected: streams > 0 }, all, sample, targets)
      }
      const all = () => [{ by: 'agent', value: collect }, ...scope.metrics.map(bounded)]
      const scrape = openScrape({ metrics: all, clock, log })
      const pages = [livePage, readyPage(async () => toReadinessAnswer(runChecks(scope.call, streams > 0)))]
      const isKnownHost = openHostCheck({})
      const { port, close } = await openListener({ listen, isKnownHost, scrape, pages, clock, log })
      scope.defer(close)
      log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
    }
  }
}

/** Returns the targets of a rule with several. Connections of earlier runs count at their target. */
function listTargets(
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
    if (spec.targets.findIndex(other => hostAndPort(other) === target) < at) return [] // a duplicate
    const active = addUp(rows, row => (row.target === target ? row.active : 0))
    const { share = 1, ejections = 0 } = current[at] ?? {}
    return [{ rule, target, active, share, ejections }]
  })
}

const hostAndPort = ({ host, port }: Partial<EngineTarget> = {}): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

const maxSeries = 1000 // of one plugin

/** Adds the plugin's prefix to the names. Throws beyond the bound instead of cutting series. */
const bounded = ({ by, value }: PluginMetrics): PluginMetrics => ({
  by,
  async value() {
    let series = 0
    return (await value()).map(metric => {
      const samples = [...metric.samples]
      series += samples.length
      if (series > maxSeries) throw new RangeError(`more than ${maxSeries} series`)
      return { ...metric, name: `svc_agent_${by.replaceAll('-', '_')}_${metric.name}`, samples }
    })
  }
})

/** Merges the counters of a run into one sum of earlier runs, because a rule may be reopened without bound. */
function addRun(run: Counters, earlier: Counters | undefined): Counters {
  if (!earlier) return { ...run, ports: [total(run.ports)], targets: [] }
  const diverts = Map.groupBy([...run.diverts, ...earlier.diverts], ({ name }) => name)
  const reasons = new Set([...Object.keys(run.rejected), ...Object.keys(earlier.rejected)])
  return {
    ...run,
    ports: [total([...run.ports, ...earlier.ports])],
    targets: [],
    diverts: [...diverts].map(([name, all]) => ({
      name,
      bytesIn: addUp(all, one => one.bytesIn),
      bytesOut: addUp(all, one => one.bytesOut),
      connectionsTotal: addUp(all, one => one.connectionsTotal),
      active: addUp(all, one => one.active)
    })),
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
  bytesIn: addUp(ports, ({ bytesIn }) => bytesIn),
  bytesOut: addUp(ports, ({ bytesOut }) => bytesOut),
  datagramsIn: addUp(ports, ({ datagramsIn }) => datagramsIn),
  datagramsOut: addUp(ports, ({ datagramsOut }) => datagramsOut),
  active: addUp(ports, ({ active }) => active)
})
