// Metrics of all rules. Read in pages, so that other requests are answered in between.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { type Counter, counters, selectedCounts, valuesOf } from '../../agent/wire/counters.ts'
import type { JournalRow } from '../../agent/wire/journal-report.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Metric, MetricSample, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { type ActiveConnections, sumOf } from './active-connections.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'page'>
  readonly activeConnections: Pick<ActiveConnections, 'ofRule'>
}

/** What is told of a rule, beside its counts. */
interface RuleLabels {
  readonly values: readonly string[] // client, owner, rule: of several clients one of each
  readonly text: string // of these, flat: each of a dozen lines copies it; ids need no escapes
  readonly protocol: string
  readonly port: string // '443', '8000-8010'
  readonly clientName: string
  readonly state: string
}

/** Rules with their counts in columns: 100,000 rules are some 30 MB. */
interface RulePage {
  readonly rules: readonly RuleLabels[]
  readonly counts: Float64Array // of each rule all counters
  readonly active: Float64Array // connections and flows of each
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
  /** The next page of rules after the id `last`, with their totals, as of one transaction. */
  async function pageAfter(
    last: string,
    { shared, names }: Known
  ): Promise<RulePage & { readonly last: string }> {
    return store.read(async em => {
      const found = await rules.page(last, rulesPerPage, em)
      const ids = found.map(({ id }) => id)
      await addNames(names, new Set(found.map(({ clientId }) => clientId)), em)
      const page = {
        rules: found.map(rule => labelsOf(rule, names.get(rule.clientId) ?? '', shared)),
        counts: new Float64Array(found.length * counters.length),
        active: Float64Array.from(found, ({ clientId, id }) => sumOf(activeConnections.ofRule(clientId, id))),
        rejected: [] as Rejected[],
        last: ids.at(-1) ?? ''
      }
      const places = new Map(ids.map((id, at) => [id, at]))
      for (const total of await totalsOf({ after: last, upTo: page.last }, em)) {
        const at = places.get(total.ruleId) ?? -1 // of a rule that is deleted, for example
        const rule = page.rules[at]
        if (!rule) continue
        if (total.kind === 'rule') page.counts.set(valuesOf(total), at * counters.length)
        else page.rejected.push({ rule, reason: shared(total.key), count: total.rejected })
      }
      return page
    })
  }

  return async () => {
    const known = { shared: openShared(), names: new Map<string, string>() }
    const pages: RulePage[] = []
    for (let last = ''; ; await setImmediate()) {
      const page = await pageAfter(last, known)
      pages.push(page)
      if (page.rules.length < rulesPerPage) return metricsOf(pages)
      last = page.last
    }
  }
}

/** Returns an equal string that others have, too: few owners and clients have many rules. */
type Shared = (text: string) => string

function openShared(): Shared {
  const known = new Map<string, string>()
  return text => {
    const found = known.get(text)
    if (found === undefined) known.set(text, text)
    return found ?? text
  }
}

/** What one scrape has read: its pages have many rules of the same clients. */
interface Known {
  readonly shared: Shared
  readonly names: Map<string, string> // of clients
}

async function addNames(
  names: Known['names'],
  clients: ReadonlySet<string>,
  em: EntityManager
): Promise<void> {
  const unknown = [...clients].filter(id => !names.has(id))
  if (unknown.length === 0) return
  const found = await em.find(Client, { id: { $in: unknown } }, { fields: ['id', 'name'] })
  for (const { id, name } of found) names.set(id, name)
}

type Row = Awaited<ReturnType<Rules['page']>>[number]

function labelsOf(
  { shownId, clientId, owner, protocol, listenFrom, listenTo, state }: Row,
  clientName: string,
  shared: Shared
): RuleLabels {
  return {
    values: [shared(clientId), shared(owner), shownId],
    text: ['client="', clientId, '",owner="', owner, '",rule="', shownId, '"'].join(''),
    protocol: shared(protocol),
    port: shared(listenFrom === listenTo ? String(listenFrom) : `${listenFrom}-${listenTo}`),
    clientName,
    state: shared(state)
  }
}

/** Reads a range, which takes half the time that looking up its rules does. */
function totalsOf(
  { after, upTo }: { readonly after: string; readonly upTo: string },
  em: EntityManager
): Promise<JournalRow[]> {
  return em.execute<JournalRow[]>(
    `select rule_id as "ruleId", kind, key, ${selectedCounts} from stats_total
     where rule_id > ? and rule_id <= ? and kind in ('rule', 'rejected')`,
    [after, upTo]
  )
}

function metricsOf(pages: readonly RulePage[]): readonly Metric[] {
  const all = openFamilies(pages, () => true)
  const tcp = openFamilies(pages, ({ protocol }) => protocol === 'tcp')
  const udp = openFamilies(pages, ({ protocol }) => protocol === 'udp')
  return [
    {
      name: 'svc_rule_info',
      type: 'gauge',
      help: 'Always 1; carries what people call the rule: the name of its client, protocol and port.',
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
      samples: all.samples(rule => new SampleWith(rule, 'state', rule.state, 1))
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
      'Connections and flows that another target took.',
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

/** A sample of a rule with one more label, whose value needs no escapes. A scrape reads the text alone. */
class SampleWith implements MetricSample {
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

/** Makes a sample of the rule at a place of its page. */
type MakeSample = (rule: RuleLabels, at: number, page: RulePage) => MetricSample

/** Families of those rules that are chosen. Their samples are made while they are read, and can be read again. */
function openFamilies(pages: readonly RulePage[], isChosen: (rule: RuleLabels) => boolean) {
  const samples = (...makers: readonly MakeSample[]): Iterable<MetricSample> => ({
    *[Symbol.iterator]() {
      for (const page of pages)
        for (const [at, rule] of page.rules.entries())
          if (isChosen(rule)) for (const make of makers) yield make(rule, at, page)
    }
  })
  const countOf = (counter: Counter): ((at: number, page: RulePage) => number) => {
    const place = counters.indexOf(counter)
    return (at, { counts }) => counts[at * counters.length + place] ?? 0
  }

  return {
    samples,
    counter(name: string, help: string, counter: Counter): Metric {
      const count = countOf(counter)
      const make: MakeSample = ({ values: labelValues, text }, at, page) => ({
        ...{ labelValues, text },
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
        ...{ labelValues, text },
        value: active[at] ?? 0
      }))
    }),
    inAndOut(name: string, help: string, [into, out]: readonly [Counter, Counter]): Metric {
      const [countIn, countOut] = [countOf(into), countOf(out)]
      return {
        name,
        type: 'counter',
        help,
        labels: [...labels, 'direction'],
        samples: samples(
          (rule, at, page) => new SampleWith(rule, 'direction', 'in', countIn(at, page)),
          (rule, at, page) => new SampleWith(rule, 'direction', 'out', countOut(at, page))
        )
      }
    }
  }
}
