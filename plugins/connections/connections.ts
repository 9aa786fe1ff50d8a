// Open connections and flows. Agents are queried on demand; the server stores nothing.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { PagedRows, ServerEvent } from '../http/exports.ts'
import { toProtocol } from '../rules/exports.ts'
import {
  descending,
  openClientQuery,
  type Position,
  type ResolvedFilter,
  type Services
} from './client-query.ts'
import { type ConnectionCloser, openConnectionCloser, type Scope } from './connection-closer.ts'
import { openConnectionWatches } from './connection-watches.ts'
import {
  type ConnectionRow,
  type ConnectionsEvent,
  type Filter,
  type ListQuery,
  parseTarget,
  type StreamQuery
} from './schema.ts'
import { capability, type Selection } from './wire.ts'

export type { Services } from './client-query.ts'

import { seesAll } from '../http/exports.ts'

/** The service `connections`. Users see and close only connections of rules they own. */
export interface Connections extends ConnectionCloser {
  /** Pages over the open connections of all clients that answer. */
  list(query: ListQuery, principal: Principal): PagedRows<ConnectionRow>
  /** Yields an event at most once a second, until the signal aborts. */
  watch(
    query: StreamQuery,
    principal: Principal,
    signal: AbortSignal
  ): AsyncGenerator<ServerEvent<ConnectionsEvent>>
}

export function openConnections(services: Services): Connections {
  const query = openClientQuery(services)

  async function resolveFilter(
    filter: Filter,
    caller: Principal,
    em: EntityManager
  ): Promise<ResolvedFilter> {
    const { client, rule_id, owner } = filter
    const members = rule_id === undefined ? null : await services.rules.listMembers(rule_id, em)
    const memberByClient = members && new Map(members.map(({ id, clientId }) => [clientId, id]))
    const visibleOwner = seesAll(caller) ? owner : caller.userId
    const isOthers = owner !== undefined && owner !== visibleOwner
    const named = await clientIds(services, { client, owner: visibleOwner }, em)
    const withMember = memberByClient && new Set(memberByClient.keys())
    const selection = toSelection(filter, visibleOwner)
    return {
      clients: isOthers ? new Set() : intersect(named, withMember),
      selectionOn(clientId) {
        const member = memberByClient?.get(clientId)
        return member === undefined ? selection : { ...selection, rule_id: member }
      }
    }
  }

  async function resolveScopes(
    filter: Filter,
    principal: Principal,
    em: EntityManager
  ): Promise<readonly Scope[]> {
    const { clients, selectionOn } = await resolveFilter(filter, principal, em)
    return services.control.peers
      .all()
      .filter(peer => (clients?.has(peer.clientId) ?? true) && peer.can(capability))
      .map(peer => ({ peer, selection: selectionOn(peer.clientId) }))
  }

  function list({ sort = 'age', ...filter }: ListQuery, principal: Principal): PagedRows<ConnectionRow> {
    return {
      async page(after, take, em) {
        const asked = await resolveScopes(filter, principal, em)
        const position = positionOf(after)
        const pages = asked.map(({ peer, selection }) =>
          query.rows(peer, { selection, sort, take, after: position })
        )
        return (await Promise.all(pages))
          .flat()
          .sort(descending)
          .slice(0, take)
          .map(({ row, key, clientId, id }) => ({ key: `${key} ${clientId} ${id}`, row }))
      }
    }
  }

  return {
    list,
    watch: openConnectionWatches(services, query, resolveFilter),
    ...openConnectionCloser(services, query, resolveScopes)
  }
}

/** Returns the common ids of two sets; null means all. */
const intersect = (
  a: ReadonlySet<string> | null,
  b: ReadonlySet<string> | null
): ReadonlySet<string> | null => (a && b ? a.intersection(b) : (a ?? b))

function toSelection({ source, target, protocol }: Filter, owner: string | undefined): Selection {
  const at = target === undefined ? null : parseTarget(target)
  return {
    ids: [],
    ...(owner !== undefined && { owner }),
    ...(protocol !== undefined && { protocol: toProtocol(protocol) }),
    ...(source !== undefined && { source }),
    ...(at && { target: at.address, ...(at.port !== undefined && { target_port: at.port }) })
  }
}

interface Where {
  readonly client: string | undefined
  readonly owner: string | undefined
}

/** Returns the clients that may have such rules; null: all. */
async function clientIds(
  { rules }: Pick<Services, 'rules'>,
  { client, owner }: Where,
  em: EntityManager
): Promise<ReadonlySet<string> | null> {
  const all: (readonly string[])[] = []
  if (owner !== undefined) all.push(await rules.clientsOfOwner(owner, em))
  if (client !== undefined)
    all.push((await em.find(Client, { $or: [{ id: client }, { name: client }] })).map(({ id }) => id))
  const [first, ...others] = all.map(ids => new Set(ids))
  return first === undefined ? null : others.reduce((left, ids) => left.intersection(ids), first)
}

function positionOf(after: string): Position | null {
  const [key, clientId, id] = after.split(' ')
  return clientId === undefined ? null : { key: Number(key), clientId, id: Number(id) }
}
