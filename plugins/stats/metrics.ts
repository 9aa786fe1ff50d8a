// Metrics of all rules. Read in pages, so that other requests are answered in between.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { type ActiveConnections, sumOf } from './active-connections.ts'
import { type Counter, type Counts, noCounts, selectedCounts } from './counters.ts'
import type { JournalRow } from './wire.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'page'>
  readonly activeConnections: Pick<ActiveConnections, 'ofRule'>
}

interface RuleSample {
  readonly id: string
  readonly labelValues: readonly string[] // client, owner, rule: of several clients one of each
  readonly protocol: 'tcp' | 'udp'
  readonly port: string // '443', '8000-8010'
  readonly clientName: string
  readonly state: string
  readonly counts: Counts
  readonly rejected: readonly JournalRow[] // by reason
  readonly active: number
}

const rulesPerPage = 500
const labels = ['client', 'owner', 'rule']

export function openMetrics({ store, rules, activeConnections }: Services): Metrics {
  /** The next page of rules after the id `last`, with their totals, as of one transaction. */
  async function pageAfter(last: string): Promise<RuleSample[]> {
    return store.read(async em => {
      const page = await rules.page(last, rulesPerPage, em)
      const ids = page.map(({ id }) => id)
      const clients = await em.find(Client, {
        id: { $in: [...new Set(page.map(({ clientId }) => clientId))] }
      })
      const names = new Map(clients.map(({ id, name }) => [id, name]))
      const totals = Map.groupBy(await totalsOf(ids, em), ({ ruleId }) => ruleId)
      return page.map(({ id, shownId, clientId, owner, protocol, listenFrom, listenTo, state }) => {
        const ofRule = totals.get(id) ?? []
        return {
          id,
          labelValues: [clientId, owner, shownId],
          protocol,
          port: listenFrom === listenTo ? String(listenFrom) : `${listenFrom}-${listenTo}`,
          clientName: names.get(clientId) ?? '',
          state,
          counts: ofRule.find(({ kind }) => kind === 'rule') ?? noCounts,
          rejected: ofRule.filter(({ kind }) => kind === 'rejected'),
          active: sumOf(activeConnections.ofRule(clientId, id))
        }
      })
    })
  }

  return async () => {
    const samples: RuleSample[] = []
    for (let page: RuleSample[] = []; ; ) {
      page = await pageAfter(samples.at(-1)?.id ?? '')
      samples.push(...page)
      if (page.length < rulesPerPage) return metricsOf(samples)
      await setImmediate()
    }
  }
}

function totalsOf(ids: readonly string[], em: EntityManager): Promise<JournalRow[]> {
  return em.execute<JournalRow[]>(
    `select rule_id as "ruleId", kind, key, ${selectedCounts} from stats_total
     where rule_id in (${ids.map(() => '?').join(', ')}) and kind in ('rule', 'rejected')`,
    [...ids]
  )
}

function metricsOf(rules: readonly RuleSample[]): readonly Metric[] {
  const tcp = rules.filter(({ protocol }) => protocol === 'tcp')
  const udp = rules.filter(({ protocol }) => protocol === 'udp')
  return [
    {
      name: 'svc_rule_info',
      type: 'gauge',
      help: 'Always 1; carries what people call the rule: the name of its client, protocol and port.',
      labels: [...labels, 'client_name', 'protocol', 'port'],
      samples: rules.values().map(({ labelValues, clientName, protocol, port }) => ({
        labelValues: [...labelValues, clientName, protocol, port],
        value: 1
      }))
    },
    {
      name: 'svc_rule_state',
      type: 'gauge',
      help: 'Always 1; carries the state of the rule.',
      labels: [...labels, 'state'],
      samples: rules
        .values()
        .map(({ labelValues, state }) => ({ labelValues: [...labelValues, state], value: 1 }))
    },
    inAndOut('svc_rule_bytes_total', 'Payload bytes delivered.', rules, ['bytesIn', 'bytesOut']),
    counter('svc_rule_connections_total', 'Connections and flows.', rules, 'connections'),
    gauge('svc_rule_active_connections', 'Open TCP connections.', tcp),
    inAndOut('svc_rule_udp_datagrams_total', 'Datagrams delivered.', udp, ['datagramsIn', 'datagramsOut']),
    gauge('svc_rule_active_flows', 'Open UDP flows.', udp),
    counter('svc_rule_flows_dropped_overflow_total', 'UDP flows dropped at the flow cap.', udp, 'overflows'),
    counter('svc_rule_dns_failures_total', 'Target names that did not resolve.', rules, 'dnsFailures'),
    counter(
      'svc_rule_target_failovers_total',
      'Connections and flows that another target took.',
      rules,
      'failovers'
    ),
    {
      name: 'svc_rule_rejected_total',
      type: 'counter',
      help: 'Connections and datagrams that were refused.',
      labels: [...labels, 'reason'],
      samples: rules
        .values()
        .flatMap(({ labelValues, rejected }) =>
          rejected.map(row => ({ labelValues: [...labelValues, row.key], value: row.rejected }))
        )
    }
  ]
}

type Samples = readonly RuleSample[]

const counter = (name: string, help: string, rules: Samples, counted: Counter): Metric => ({
  name,
  type: 'counter',
  help,
  labels,
  samples: rules.values().map(({ labelValues, counts }) => ({ labelValues, value: counts[counted] }))
})

const gauge = (name: string, help: string, rules: Samples): Metric => ({
  name,
  type: 'gauge',
  help,
  labels,
  samples: rules.values().map(({ labelValues, active }) => ({ labelValues, value: active }))
})

const inAndOut = (
  name: string,
  help: string,
  rules: Samples,
  [into, out]: readonly [Counter, Counter]
): Metric => ({
  name,
  type: 'counter',
  help,
  labels: [...labels, 'direction'],
  samples: rules.values().flatMap(({ labelValues, counts }) => [
    { labelValues: [...labelValues, 'in'], value: counts[into] },
    { labelValues: [...labelValues, 'out'], value: counts[out] }
  ])
})
