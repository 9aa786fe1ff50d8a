// The managed object `link`: one for each of the two clients of a link that a rule needs. Both have the id of the link.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import {
  defineObjectKind,
  type ManagedObject,
  type ObjectKey,
  type ObjectKind
} from '../../kernel/control/managed-objects.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { effectiveHosts } from './endpoint.ts'
import { LinkEndpoint, LinkKey, LinkRow } from './entities.ts'
import type { LinkKeys } from './link-keys.ts'
import type { keys } from './settings.ts'
import { capability, type Link, LinkRemove, LinkSet, linkKind } from './wire.ts'

type Side = Link['side']

const sideOf = ({ nearId }: Pick<LinkRow, 'nearId'>, clientId: string): Side =>
  nearId === clientId ? 'near' : 'far'

const peerOf = ({ nearId, farId }: Pick<LinkRow, 'nearId' | 'farId'>, clientId: string): string =>
  nearId === clientId ? farId : nearId

/** Returns the keys of both objects of a link. */
export const objectKeysOf = ({ id, nearId, farId }: Pick<LinkRow, 'id' | 'nearId' | 'farId'>): ObjectKey[] =>
  [nearId, farId].map(clientId => ({ clientId, kind: linkKind, id }))

/** The parts of objects of links, by client id. */
interface Parties {
  readonly clients: ReadonlyMap<string, Client>
  readonly endpoints: ReadonlyMap<string, LinkEndpoint>
  readonly keys: ReadonlyMap<string, LinkKey>
}

export async function loadParties(links: readonly LinkRow[], em: EntityManager): Promise<Parties> {
  const ids = { $in: [...new Set(links.flatMap(({ nearId, farId }) => [nearId, farId]))] }
  const [clients, endpoints, keys] = await Promise.all([
    em.find(Client, { id: ids }),
    em.find(LinkEndpoint, { clientId: ids }),
    em.find(LinkKey, { clientId: ids })
  ])
  return {
    clients: new Map(clients.map(client => [client.id, client])),
    endpoints: new Map(endpoints.map(endpoint => [endpoint.clientId, endpoint])),
    keys: new Map(keys.map(key => [key.clientId, key]))
  }
}

/** Returns the port on which this side may listen, or null. */
function listenPort({ direction }: LinkRow, side: Side, endpoint: LinkEndpoint | undefined): number | null {
  const mayListen = direction === 'auto' || direction === (side === 'near' ? 'reverse' : 'direct')
  return mayListen ? (endpoint?.port ?? null) : null
}

/** Returns the side that listens at first, or null if none can: no endpoint, or none that the direction allows. */
export function listenerSide(link: LinkRow, { endpoints }: Pick<Parties, 'endpoints'>): Side | null {
  if (listenPort(link, 'near', endpoints.get(link.nearId)) !== null) return 'near'
  return listenPort(link, 'far', endpoints.get(link.farId)) === null ? null : 'far'
}

/** Returns the hosts at which the side is dialed. Those of the link replace those of the first listener. */
export function dialedHosts(link: LinkRow, side: Side, parties: Parties): readonly string[] {
  if (link.hosts && listenerSide(link, parties) === side) return link.hosts
  const clientId = side === 'near' ? link.nearId : link.farId
  const endpoint = parties.endpoints.get(clientId)
  const client = parties.clients.get(clientId)
  if (!endpoint || !client || listenPort(link, side, endpoint) === null) return []
  return effectiveHosts({ port: endpoint.port, hosts: endpoint.hosts ?? null }, client).hosts
}

/** Returns the link as the client gets it; null if the client must not have it: one of the two is revoked. */
function toWireLink(
  link: LinkRow,
  clientId: string,
  parties: Parties,
  config: Static<typeof keys>
): Link | null {
  const side = sideOf(link, clientId)
  const peerSide = side === 'near' ? 'far' : 'near'
  const peer = parties.clients.get(peerOf(link, clientId))
  if (!peer || peer.revokedAt || parties.clients.get(clientId)?.revokedAt) return null
  const { pin, nextPin } = parties.keys.get(peer.id) ?? {}
  const ownPort = listenPort(link, side, parties.endpoints.get(clientId))
  const peerPort = listenPort(link, peerSide, parties.endpoints.get(peer.id))
  return {
    id: link.id,
    side,
    peer_id: peer.id,
    peer_name: peer.name,
    peer_pins: [pin, nextPin].filter(pin => typeof pin === 'string'),
    direction: link.direction,
    ...(ownPort !== null && { listen_port: ownPort }),
    ...(peerPort !== null && { peer_port: peerPort }),
    peer_hosts: [...dialedHosts(link, peerSide, parties)],
    max_idle: config.link_max_idle,
    dead_secs: config.link_dead_secs,
    lease_hours: config.link_lease_hours
  }
}

interface Services extends Pick<Kernel<typeof keys>, 'config'> {
  readonly linkKeys: Pick<LinkKeys, 'acknowledged'>
}

export const openLinkKind = ({ config, linkKeys }: Services): ObjectKind =>
  defineObjectKind({
    kind: linkKind,
    capability,
    push: LinkSet,
    remove: LinkRemove,
    async load(rows, em) {
      const revisions = new Map(rows.map(row => [row.id, row]))
      const links = await em.find(LinkRow, { id: { $in: [...revisions.keys()] } })
      const parties = await loadParties(links, em)
      return new Map(
        links.flatMap(row => {
          const { clientId, revision } = revisions.get(row.id) ?? { clientId: '', revision: 0 }
          const link = toWireLink(row, clientId, parties, config)
          return link ? [[row.id, { revision, link }] as const] : []
        })
      )
    },
    removal: ({ id, revision, removal }) => ({ id, revision, removal: removal ?? 'cut' }),
    async settled(rows, em) {
      const links = await em.find(LinkRow, { id: { $in: rows.map(({ id }) => id) } })
      const byId = new Map(links.map(link => [link.id, link]))
      const isSettled = (row: ManagedObject): boolean => {
        const link = byId.get(row.id)
        return link !== undefined && acknowledgedRevision(link, row.clientId) === row.revision
      }
      return new Set(rows.filter(isSettled).map(({ id }) => id))
    },
    async recordResult(row, result, em) {
      if (row.removal !== null || result.status !== 'applied') return
      const link = await em.findOne(LinkRow, { id: row.id })
      if (!link || acknowledgedRevision(link, row.clientId) === row.revision) return
      const side = sideOf(link, row.clientId)
      const revision = side === 'near' ? { nearRevision: row.revision } : { farRevision: row.revision }
      await em.nativeUpdate(LinkRow, { id: row.id }, revision)
      await linkKeys.acknowledged(peerOf(link, row.clientId), em)
    }
  })

const acknowledgedRevision = (link: LinkRow, clientId: string): number =>
  sideOf(link, clientId) === 'near' ? link.nearRevision : link.farRevision
