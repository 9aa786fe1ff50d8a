// Metrics of all rules. Reads rules in pages, so that other requests are served in between.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { type Counter, counters, selectedCounts, valuesOf } from '../../agent/wire/counters.ts'
import type { JournalRow } from '../../agent/wire/journal-report.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Metric, MetricSample, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { type ActiveConnections, sumConnections } from './active-connections.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'page'>
  readonly activeConnections: Pick<ActiveConnections, 'ofRule'>
}

/** The labels of a rule. */
interface RuleLabels {
  readonly values: readonly string[] // client, owner, rule
  readonly text: string // the rendered `values`, which a dozen lines copy; ids need no escapes
  readonly protocol: string
  readonly port: string // '443', '8000-8010'
  readonly clientName: string
  readonly state: string
}

/** Rules with their counts in columns. 100,000 rules take about 30 MB. */
interface RulePage {
  readonly rules: readonly RuleLabels[]
  readonly counts: Float64Array // all counters of the first rule, then of the second, ...
  readonly active: Float64Array // connections and flows of each rule
  readonly rejected: readonly Rejected[]
}

interface Rejected {
  readonly rule: RuleLabels
  readonly reason: string
  readonly count: number
}

const rulesPerPage = 500
const labels = ['client', 'owner', 'rule']

export function openMetrics({ store, rules, activeConnections }: Services): Metrics {
  /** Reads the page of rules after the id `last`, with their totals, in one transaction. */
  async function pageAfter(
    last: string,
    { intern, names }: ScrapeCache
  ): Promise<RulePage & { readonly last: string }> {
    return store.read(async em => {
      const found = await rules.page(last, rulesPerPage, em)
      const ids = found.map(({ id }) => id)
      await addNames(names, new Set(found.map(({ clientId }) => clientId)), em)
      const page = {
        rules: found.map(rule => toLabels(rule, names.get(rule.clientId) ?? '', intern)),
        counts: new Float64Array(found.length * counters.length),
        active: Float64Array.from(found, ({ clientId, id }) =>
          sumConnections(activeConnections.ofRule(clientId, id))
        ),
        rejected: [] as Rejected[],
        last: ids.at(-1) ?? ''
      }
      const indexes = new Map(ids.map((id, at) => [id, at]))
      for (const total of await loadTotals({ after: last, upTo: page.last }, em)) {
        const at = indexes.get(total.ruleId) ?? -1 // -1: a deleted rule, for example
        const rule = page.rules[at]
        if (!rule) continue
        if (total.kind === 'rule') page.counts.set(valuesOf(total), at * counters.length)
        else page.rejected.push({ rule, reason: intern(total.key), count: total.rejected })
      }
      return page
    })
  }

  return async () => {
    const cache = { intern: openIntern(), names: new Map<string, string>() }
    const pages: RulePage[] = []
    for (let last = ''; ; await setImmediate()) {
      const page = await pageAfter(last, cache)
      pages.push(page)
      if (page.rules.length < rulesPerPage) return toMetrics(pages)
      last = page.last
    }
  }
}

/** Interns a string: a few owners and clients have many rules. */
type Intern = (text: string) => string

function openIntern(): Intern {
  const known = new Map<string, string>()
  return text => {
    const found = known.get(text)
    if (found === undefined) known.set(text, text)
    return found ?? text
  }
}

/** Data that the pages of one scrape share. */
interface ScrapeCache {
  readonly intern: Intern
  readonly names: Map<string, string> // by client id
}

async function addNames(
  names: ScrapeCache['names'],
  clients: ReadonlySet<string>,
  em: EntityManager
): Promise<void> {
  const unknown = [...clients].filter(id => !names.has(id))
  if (unknown.length === 0) return
  const found = await em.find(Client, { id: { $in: unknown } }, { fields: ['id', 'name'] })
  for (const { id, name } of found) names.set(id, name)
}

type Row = Awaited<ReturnType<Rules['page']>>[number]

function toLabels(
  { shownId, clientId, owner, protocol, listenFrom, listenTo, state }: Row,
  clientName: string,
  intern: Intern
): RuleLabels {
  return {
    values: [intern(clientId), intern(owner), shownId],
    text: ['client="', clientId, '",owner="', owner, '",rule="', shownId, '"'].join(''),
    protocol: intern(protocol),
    port: intern(listenFrom === listenTo ? String(listenFrom) : `${listenFrom}-${listenTo}`),
    clientName,
    state: intern(state)
  }
}

/** Reads a range of ids, which takes half the time of a lookup by id. */
function loadTotals(
  { after, upTo }: { readonly after: string; readonly upTo: string },
  em: EntityManager
): Promise<JournalRow[]> {
  return em.execute<JournalRow[]>(
    `select rule_id as "ruleId", kind, key, ${selectedCounts} from stats_total
     where rule_id > ? and rule_id <= ? and kind in ('rule', 'rejected')`,
    [after, upTo]
  )
}

function toMetrics(pages: readonly RulePage[]): readonly Metric[] {
  const all = openFamilies(pages, () => true)
  const tcp = openFamilies(pages, ({ protocol }) => protocol === 'tcp')
  const udp = openFamilies(pages, ({ protocol }) => protocol === 'udp')
  return [
    {
      name: 'svc_rule_info',
      type: 'gauge',
      help: 'Always 1; carries the client name, protocol and port of the rule.',
      labels: [...labels, 'client_name', 'protocol', 'port'],
      samples: all.samples(({ values, clientName, protocol, port }) => ({
        labelValues: [...values, clientName, protocol, port],
        value: 1
      }))
    },
    {
      name: 'svc_rule_state',
      type: 'gauge',
      help: 'Always 1; carries the state of the rule.',
      labels: [...labels, 'state'],
      samples: all.samples(rule => new RuleSample(rule, 'state', rule.state, 1))
    },
    all.inAndOut('svc_rule_bytes_total', 'Payload bytes delivered.', ['bytesIn', 'bytesOut']),
    all.counter('svc_rule_connections_total', 'Connections and flows.', 'connections'),
    tcp.active('svc_rule_active_connections', 'Open TCP connections.'),
    udp.inAndOut('svc_rule_udp_datagrams_total', 'Datagrams delivered.', ['datagramsIn', 'datagramsOut']),
    udp.active('svc_rule_active_flows', 'Open UDP flows.'),
    udp.counter('svc_rule_flows_dropped_overflow_total', 'UDP flows dropped at the flow cap.', 'overflows'),
    all.counter('svc_rule_dns_failures_total', 'Target names that did not resolve.', 'dnsFailures'),
    all.counter(
      'svc_rule_target_failovers_total',
      'Connections and flows that another target took, and flows that left a silent address.',
      'failovers'
    ),
    {
      name: 'svc_rule_rejected_total',
      type: 'counter',
      help: 'Connections and datagrams that were refused.',
      labels: [...labels, 'reason'],
      samples: pages.flatMap(({ rejected }) =>
        rejected.map(({ rule, reason, count }) => ({ labelValues: [...rule.values, reason], value: count }))
      )
    }
  ]
}

/** A sample with one more label. The label value must need no escapes. A scrape reads only `text`. */
class RuleSample implements MetricSample {
  readonly text: string
  readonly value: number
  readonly #values: readonly string[]
  readonly #labelValue: string

  constructor({ values, text }: RuleLabels, label: string, labelValue: string, value: number) {
    this.#values = values
    this.#labelValue = labelValue
    this.text = `${text},${label}="${labelValue}"`
    this.value = value
  }

  get labelValues(): readonly string[] {
    return [...this.#values, this.#labelValue]
  }
}

/** Makes a sample of the rule at index `at` of its page. */
type MakeSample = (rule: RuleLabels, at: number, page: RulePage) => MetricSample

/** Metric families of the chosen rules. Samples are made while they are read and can be read again. */
function openFamilies(pages: readonly RulePage[], isChosen: (rule: RuleLabels) => boolean) {
  const samples = (...makers: readonly MakeSample[]): Iterable<MetricSample> => ({
    *[Symbol.iterator]() {
      for (const page of pages)
        for (const [at, rule] of page.rules.entries())
          if (isChosen(rule)) for (const make of makers) yield make(rule, at, page)
    }
  })
  const countOf = (counter: Counter): ((at: number, page: RulePage) => number) => {
    const index = counters.indexOf(counter)
    return (at, { counts }) => counts[at * counters.length + index] ?? 0
  }

  return {
    samples,
    counter(name: string, help: string, counter: Counter): Metric {
      const count = countOf(counter)
      const make: MakeSample = ({ values: labelValues, text }, at, page) => ({
        labelValues,
        text,
        value: count(at, page)
      })
      return { name, type: 'counter', help, labels, samples: samples(make) }
    },
    active: (name: string, help: string): Metric => ({
      name,
      type: 'gauge',
      help,
      labels,
      samples: samples(({ values: labelValues, text }, at, { active }) => ({
        labelValues,
        text,
        value: active[at] ?? 0
      }))
    }),
    inAndOut(name: string, help: string, [bytesIn, bytesOut]: readonly [Counter, Counter]): Metric {
      const countIn = countOf(bytesIn)
      const countOut = countOf(bytesOut)
      return {
        name,
        type: 'counter',
        help,
        labels: [...labels, 'direction'],
        samples: samples(
          (rule, at, page) => new RuleSample(rule, 'direction', 'in', countIn(at, page)),
          (rule, at, page) => new RuleSample(rule, 'direction', 'out', countOut(at, page))
        )
      }
    }
  }
}
