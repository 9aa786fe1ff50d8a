// Open connections and flows. Agents are queried on demand; the server stores nothing.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import type { PagedRows, ServerEvent } from '../http/exports.ts'
import { descending, openClientQuery, type Position, type Services } from './client-query.ts'
import { type ConnectionCloser, openConnectionCloser, type Scope } from './connection-closer.ts'
import { openConnectionWatches } from './connection-watches.ts'
import { openFilterResolver } from './resolve-filter.ts'
import type { ConnectionRow, ConnectionsEvent, Filter, ListQuery, StreamQuery } from './schema.ts'
import { capability } from './wire.ts'

export type { Services } from './client-query.ts'

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
  const resolveFilter = openFilterResolver(services)

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

function positionOf(after: string): Position | null {
  const [key, clientId, id] = after.split(' ')
  return clientId === undefined ? null : { key: Number(key), clientId, id: Number(id) }
}
