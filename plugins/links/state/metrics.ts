// Metrics of all links in the store, as the agents of their near clients report them. A series goes with its link.
import { setImmediate } from 'node:timers/promises'
import type { Metric, MetricSample, Metrics } from '../../../kernel/metrics.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { LinkRow } from '../entities.ts'
import type { LinkStatus } from '../wire.ts'
import type { LinkReports } from './link-reports.ts'

const pair = ['entry', 'exit'] // the near and the far client
const linksPerPage = 1000

type Services = Pick<Kernel, 'store'> & { readonly linkReports: Pick<LinkReports, 'of'> }

interface ReportedLink {
  readonly labels: readonly string[]
  readonly state: LinkRow['state']
  readonly status: LinkStatus | undefined // absent: the near client is not connected
}

type Counts = readonly (readonly [string, number])[]

export const openMetrics = ({ store, linkReports }: Services): Metrics => {
  /** Reads page by page, so that a large table does not block the event loop. */
  async function readAll(): Promise<ReportedLink[]> {
    const links: ReportedLink[] = []
    for (let page: LinkRow[] = [], last = ''; ; last = page.at(-1)?.id ?? '') {
      const where = { id: { $gt: last } }
      page = await store.read(em => em.find(LinkRow, where, { orderBy: { id: 'asc' }, limit: linksPerPage }))
      for (const link of page)
        links.push({
          labels: [link.nearId, link.farId],
          state: link.state,
          status: linkReports.of(link).near
        })
      if (page.length < linksPerPage) return links
      await setImmediate()
    }
  }

  return async () => familiesOf(await readAll())
}

function familiesOf(links: readonly ReportedLink[]): Metric[] {
  const each = (read: (link: ReportedLink) => number | undefined): MetricSample[] =>
    links.flatMap(link => {
      const value = read(link)
      return value === undefined ? [] : [{ labelValues: link.labels, value }]
    })
  const perKey = (read: (status: LinkStatus) => Counts): MetricSample[] =>
    links.flatMap(({ labels, status }) =>
      (status ? read(status) : []).map(([key, value]) => ({ labelValues: [...labels, key], value }))
    )
  return [
    family(
      'svc_link_up',
      '1 while the link answers.',
      [],
      each(({ state }) => (state === 'up' || state === 'degraded' ? 1 : 0))
    ),
    family(
      'svc_link_rtt_seconds',
      'Round trip of the last ping.',
      [],
      each(({ status }) => status?.rtt_last_ms && status.rtt_last_ms / 1000)
    ),
    family(
      'svc_link_connections',
      'TCP connections of the link: those that carry a client connection, and ready ones.',
      ['state'],
      perKey(({ open, idle }) => Object.entries({ open, idle }))
    ),
    family(
      'svc_link_opens_total',
      'Requests to open a target through the link, by result, since the start of the agent.',
      ['result'],
      perKey(({ opens }) => distinctCounts(opens))
    ),
    family(
      'svc_link_bytes_total',
      'Payload towards the far client (in) and back (out), since the start of the agent.',
      ['direction'],
      perKey(({ bytes_in, bytes_out }) => Object.entries({ in: bytes_in, out: bytes_out }))
    ),
    family(
      'svc_link_handshakes_total',
      'Handshakes of the link, since the start of the agent.',
      ['kind'],
      perKey(({ handshakes }) => distinctCounts(handshakes))
    )
  ]
}

const family = (
  name: string,
  help: string,
  more: readonly string[],
  samples: readonly MetricSample[]
): Metric => ({
  name,
  type: name.endsWith('_total') ? 'counter' : 'gauge',
  help,
  labels: [...pair, ...more],
  samples
})

/** An agent that repeats a key must not repeat a series. */
const distinctCounts = (counts: LinkStatus['opens']): Counts => [
  ...new Map(counts.map(({ key, value }) => [key, value] as const))
]
