import { Type } from 'typebox'
import { ackTimeout } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineStream } from '../http/exports.ts'
import type { Connections } from './connections.ts'
import {
  CloseQuery,
  ConnectionRow,
  ConnectionsEvent,
  Counts,
  connectionNotFound,
  filterRequired,
  ListQuery,
  StreamQuery
} from './schema.ts'

interface Deps {
  readonly connections: Connections
}

const list = defineList({
  url: '/v1/connections',
  action: 'connection.list',
  access: 'user',
  summary: 'Lists what is open now: TCP connections and UDP flows.',
  description:
    'Asked of the connected clients; one that does not answer within 3 s is left out. Users see those of their own rules.',
  schema: () => ({ query: ListQuery, row: ConnectionRow, errors: [] }),
  run: async ({ connections }: Deps, { query, principal }) => connections.list(query, principal)
})

const stream = defineStream({
  url: '/v1/connections/stream',
  action: 'connection.stream',
  access: 'user',
  summary: 'Streams what is open now, as the list has it.',
  description:
    'Event `connections`, at most one a second: the first rows, the sums of all that match, and which clients have not answered.',
  schema: () => ({ query: StreamQuery, event: ConnectionsEvent, errors: [] }),
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
        description: 'As a list has it.',
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
  summary: 'Closes the connections and flows that a filter matches.',
  description: 'At least one filter. Users close those of their own rules only.',
  schema: () => ({ query: CloseQuery, reply: Counts, errors: [filterRequired, ackTimeout] }),
  run: ({ connections }: Deps, { query, principal, change }) => connections.close(query, principal, change)
})

export const routes = [list, stream, close, closeOne]
