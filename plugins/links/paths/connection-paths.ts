// The paths of live connections: the clients, and the round trip over all links. Connections keep their path when the
// rule changes, so it comes from the agent.
import { Type } from 'typebox'
import { ClientId, orNull } from '../../../kernel/http/schema.ts'
import type { Clients } from '../../clients/exports.ts'
import { seesAll } from '../../http/exports.ts'
import type { CarriedConnection, ConnectionPaths } from '../../rules/exports.ts'
import type { LinkRow } from '../entities.ts'
import { clientIdsOf, findPairs, pairKey } from '../link-queries.ts'
import { clientsIn } from '../planned-path.ts'
import type { LinkReports } from '../state/link-reports.ts'
import { maxPath } from '../wire.ts'
import { type Pair, pairsOfPath } from './pairs.ts'

interface Services {
  readonly clients: Pick<Clients, 'visibleIds'>
  readonly linkReports: Pick<LinkReports, 'of'>
}

const none = { via: null, link_rtt_ms: null }

export const openConnectionPaths = ({ clients, linkReports }: Services): ConnectionPaths => ({
  properties: {
    via: orNull(Type.Array(ClientId, { maxItems: maxPath }), {
      description: 'Clients through which the target is reached, in order; null: none, or still connecting.',
      examples: [null]
    }),
    link_rtt_ms: orNull(Type.Number({ minimum: 0 }), {
      description: 'Round trip of the last pings on all links of the path; null: no path, or one is unknown.',
      examples: [null]
    })
  },
  async show(connections, em) {
    const paths = connections.map(pathOf)
    const pairs = new Map(paths.flat().map(pair => [pairKey(pair), pair]))
    if (pairs.size === 0) return connections.map(() => none)
    const links = await findPairs([...pairs.values()], em)
    return paths.map(path => ({
      via: path.length === 0 ? null : path.map(([, far]) => far),
      link_rtt_ms: roundTrip(path, links, linkReports)
    }))
  },
  parameter: 'via',
  schema: Type.String({
    maxLength: 255,
    description: 'Connections through this client: its client_id or name.',
    examples: ['lyon']
  }),
  async words(client, caller, em) {
    const found = await clientIdsOf(client, em)
    const visible = seesAll(caller) ? 'all' : await clients.visibleIds(caller.userId, em)
    return visible === 'all' ? found : found.filter(id => visible.includes(id))
  }
})

/** Returns the links of the connection; none if its agent dials the target. */
const pathOf = ({ clientId, path }: CarriedConnection): Pair[] =>
  path === null ? [] : pairsOfPath(clientId, clientsIn(path).slice(0, maxPath))

/** Returns the sum over the links; null if one is unknown, or there is none. */
function roundTrip(
  path: readonly Pair[],
  links: ReadonlyMap<string, LinkRow>,
  reports: Pick<LinkReports, 'of'>
): number | null {
  let sum: number | null = path.length === 0 ? null : 0
  for (const pair of path) {
    const link = links.get(pairKey(pair))
    const { near, far } = link ? reports.of(link) : {}
    const rtt = near?.rtt_last_ms ?? far?.rtt_last_ms
    sum = sum === null || rtt === undefined ? null : sum + rtt
  }
  return sum
}
