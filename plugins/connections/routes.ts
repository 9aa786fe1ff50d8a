import { Type } from 'typebox'
import { ackTimeout } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList, defineStream } from '../http/exports.ts'
import type { Connections } from './connections.ts'
import {
  Counts,
  closeQuery,
  connectionNotFound,
  connectionRow,
  connectionsEvent,
  filterRequired,
  listQuery,
  streamQuery
} from './schema.ts'

interface Deps {
  readonly connections: Connections
}

const list = defineList({
  url: '/v1/connections',
  action: 'connection.list',
  access: 'user',
  summary: 'Lists open TCP connections and UDP flows.',
  description:
    'Queries the connected clients; the list omits a client that does not answer within 3 s. Users see connections of rules they own.',
  schema: filled => ({ query: listQuery(filled), row: connectionRow(filled), errors: [] }),
  run: async ({ connections }: Deps, { query, principal }) => connections.list(query, principal)
})

const stream = defineStream({
  url: '/v1/connections/stream',
  action: 'connection.stream',
  access: 'user',
  summary: 'Streams open connections and flows, in the form of the list.',
  description:
    'Sends the event `connections` at most once a second: the first rows, the sums over all matches, and the clients that do not answer.',
  schema: filled => ({ query: streamQuery(filled), event: connectionsEvent(filled), errors: [] }),
  run: async ({ connections }: Deps, { query, principal, signal }) =>
    connections.watch(query, principal, signal)
})

const closeOne = defineRoute({
  method: 'DELETE',
  url: '/v1/connections/:connection_id',
  action: 'connection.close',
  access: 'user',
  status: 204,
  summary: 'Closes a connection or flow: both sides are reset.',
  schema: () => ({
    params: Type.Object({
      connection_id: Type.String({
        maxLength: 80,
        description: 'From the list.',
        examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s']
      })
    }),
    reply: Type.Null(),
    errors: [connectionNotFound, ackTimeout]
  }),
  async run({ connections }: Deps, { params, principal, change }) {
    await connections.closeOne(params.connection_id, principal, change)
    return null
  }
})

const close = defineRoute({
  method: 'DELETE',
  url: '/v1/connections',
  action: 'connection.close-all',
  access: 'user',
  summary: 'Closes the connections and flows that match a filter.',
  description: 'Needs at least one filter. Users close only connections of rules they own.',
  schema: filled => ({ query: closeQuery(filled), reply: Counts, errors: [filterRequired, ackTimeout] }),
  isTrial: ({ query }) => query.dry_run === true,
  run: ({ connections }: Deps, { query, principal, change }) => connections.close(query, principal, change)
})

export const routes = [list, stream, close, closeOne]
