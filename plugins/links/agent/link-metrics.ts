import { type Metric, samplesOf } from '../../../kernel/base/metric.ts'
import type { AgentLink } from './link.ts'

const maxShown = 60 // links: an agent exports at most 1,000 series of a plugin
const maxResults = 8 // of a link
const states = ['connecting', 'up', 'down'] as const

interface Family extends Pick<Metric, 'name' | 'type' | 'help'> {
  readonly label?: string // besides `entry` and `exit`
  readonly values: (link: AgentLink) => Iterable<readonly [value: string, count: number]>
}

const families: readonly Family[] = [
  {
    name: 'up',
    type: 'gauge',
    help: '1 if the link is up.',
    values: ({ state }) => [['', state === 'up' ? 1 : 0]]
  },
  {
    name: 'rtt_seconds',
    type: 'gauge',
    help: 'Last round trip of a ping.',
    values({ meter }) {
      const trips = meter.roundTrips()
      return trips ? [['', trips.last / 1000]] : []
    }
  },
  {
    name: 'connections',
    type: 'gauge',
    help: 'Link connections; open ones carry a client connection.',
    label: 'state',
    values: ({ openCount, idleCount }) => [
      ['open', openCount],
      ['idle', idleCount]
    ]
  },
  {
    name: 'opens_total',
    type: 'counter',
    help: 'Requested targets by result.',
    label: 'result',
    values: ({ opens }) => [...opens].slice(0, maxResults)
  },
  {
    name: 'bytes_total',
    type: 'counter',
    help: 'Payload; in is towards the far client.',
    label: 'direction',
    values: ({ counts }) => [
      ['in', counts.up],
      ['out', counts.down]
    ]
  },
  {
    name: 'handshakes_total',
    type: 'counter',
    help: 'Link connections by handshake.',
    label: 'kind',
    values: ({ handshakes }) => handshakes
  }
]

/** Returns the number of links by state, and the metrics of the first 60 links. */
export function linkMetrics(links: readonly AgentLink[], clientId: string): Metric[] {
  const countOf = (state: string): number => links.filter(link => link.state === state).length
  const byState: Metric = {
    name: 'states',
    type: 'gauge',
    help: 'Links by state.',
    labels: ['state'],
    samples: samplesOf(new Map(states.map(state => [state, countOf(state)])))
  }
  const shown = links.slice(0, maxShown)
  return [
    byState,
    ...families.map(({ label, values, ...family }) => ({
      ...family,
      labels: ['entry', 'exit', ...(label === undefined ? [] : [label])],
      samples: shown.flatMap(link =>
        [...values(link)].map(([text, value]) => ({
          labelValues: [...pairOf(link, clientId), ...(label === undefined ? [] : [text])],
          value
        }))
      )
    }))
  ]
}

const pairOf = ({ config: { side, peer_id: peer } }: AgentLink, clientId: string): string[] =>
  side === 'near' ? [clientId, peer] : [peer, clientId]
