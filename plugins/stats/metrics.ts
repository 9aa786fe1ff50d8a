// What every rule has forwarded, for whoever draws it: read in pages, so that no request waits for all of them.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import { type Counts, countNames, noCounts } from './counters.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'page'>
  readonly lives: Pick<ActiveConnections, 'all'>
}

interface Told {
  readonly labelValues: readonly string[] // client, owner, rule
  readonly protocol: 'tcp' | 'udp'
  readonly whole: Counts
  readonly rejected: readonly Total[]
  readonly active: number
}

interface Total extends Counts {
  readonly rule_id: string
  readonly kind: string
  readonly key: string
}

const rulesPerPage = 500
const labels = ['client', 'owner', 'rule']

export function openMetrics({ store, rules, lives }: Services): Metrics {
  /** A page of rules and their sums, in one reading. */
  async function pageAfter(last: string, active: ReadonlyMap<string, number>): Promise<Told[]> {
    return store.read(async em => {
      const page = await rules.page(last, rulesPerPage, em)
      const totals = Map.groupBy(
        await totalsOf(
          page.map(({ id }) => id),
          em
        ),
        ({ rule_id }) => rule_id
      )
      return page.map(({ id, clientId, owner, protocol }) => {
        const mine = totals.get(id) ?? []
        return {
          labelValues: [clientId, owner, id],
          protocol,
          whole: mine.find(({ kind }) => kind === 'rule') ?? noCounts,
          rejected: mine.filter(({ kind }) => kind === 'rejected'),
          active: active.get(id) ?? 0
        }
      })
    })
  }

  return async () => {
    const active = new Map<string, number>()
    for (const { rule_id, connections } of lives.all())
      active.set(rule_id, (active.get(rule_id) ?? 0) + connections)
    const rows: Told[] = []
    for (let page: Told[] = []; ; ) {
      page = await pageAfter(rows.at(-1)?.labelValues[2] ?? '', active)
      rows.push(...page)
      if (page.length < rulesPerPage) return figuresOf(rows)
      await setImmediate()
    }
  }
}

function totalsOf(ids: readonly string[], em: EntityManager): Promise<Total[]> {
  return em.execute<Total[]>(
    `select rule_id, kind, key, ${countNames.join(', ')} from stats_total
     where rule_id in (${ids.map(() => '?').join(', ')}) and kind in ('rule', 'rejected')`,
    [...ids]
  )
}

function figuresOf(rows: readonly Told[]): readonly Metric[] {
  const of = (protocol: Told['protocol']) => rows.filter(row => row.protocol === protocol)
  return [
    inAndOut('svc_rule_bytes_total', 'Payload bytes delivered.', rows, 'bytes'),
    counter('svc_rule_connections_total', 'Connections and flows.', rows, 'connections'),
    gauge('svc_rule_active_connections', 'TCP connections that live.', of('tcp')),
    inAndOut('svc_rule_udp_datagrams_total', 'Datagrams delivered.', of('udp'), 'datagrams'),
    gauge('svc_rule_active_flows', 'UDP flows that live.', of('udp')),
    counter(
      'svc_rule_flows_dropped_overflow_total',
      'UDP flows dropped at the flow cap.',
      of('udp'),
      'overflows'
    ),
    counter('svc_rule_dns_failures_total', 'Target names that did not resolve.', rows, 'dns_failures'),
    counter('svc_rule_target_failovers_total', 'Given to another target.', rows, 'failovers'),
    {
      name: 'svc_rule_rejected_total',
      type: 'counter',
      help: 'Connections and datagrams that were refused.',
      labels: [...labels, 'reason'],
      samples: rows
        .values()
        .flatMap(({ labelValues, rejected }) =>
          rejected.map(row => ({ labelValues: [...labelValues, row.key], value: row.rejected }))
        )
    }
  ]
}

type Rows = readonly Told[]

const counter = (name: string, help: string, rows: Rows, count: keyof Counts): Metric => ({
  name,
  type: 'counter',
  help,
  labels,
  samples: rows.values().map(({ labelValues, whole }) => ({ labelValues, value: whole[count] }))
})

const gauge = (name: string, help: string, rows: Rows): Metric => ({
  name,
  type: 'gauge',
  help,
  labels,
  samples: rows.values().map(({ labelValues, active }) => ({ labelValues, value: active }))
})

const inAndOut = (name: string, help: string, rows: Rows, of: 'bytes' | 'datagrams'): Metric => ({
  name,
  type: 'counter',
  help,
  labels: [...labels, 'direction'],
  samples: rows.values().flatMap(row => [
    { labelValues: [...row.labelValues, 'in'], value: row.whole[`${of}_in`] },
    { labelValues: [...row.labelValues, 'out'], value: row.whole[`${of}_out`] }
  ])
})
