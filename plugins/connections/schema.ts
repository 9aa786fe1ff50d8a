import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { ClientId, closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import { maxRows, Sort } from './wire.ts'

export const connectionNotFound = defineCode('connection_not_found', 404, 8)
export const filterRequired = defineCode('validation.connection_filter', 400, 3)

/** Returns the address and the port of 'host:port' or 'host', or null. */
export function parseTarget(text: string): { readonly address: string; readonly port?: number } | null {
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const address = isIP(text) === 6 ? text : (bracketed ?? bare ?? '')
  const port = digits === undefined ? undefined : Number(digits)
  if (isIP(address) === 0 || (bracketed !== undefined && isIP(address) !== 6)) return null
  if (port === undefined) return { address }
  return port >= 1 && port <= 65_535 ? { address, port } : null
}

export function isPrefix(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const max = isIP(address) === 4 ? 32 : 128
  if (isIP(address) === 0 || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= max)
}

const filters = {
  client: Type.Optional(
    Type.String({ maxLength: 255, description: 'client_id, or the name of one client.', examples: ['paris'] })
  ),
  rule_id: Type.Optional(Type.String({ maxLength: 26, description: 'Only of this rule.' })),
  owner: Type.Optional(Type.String({ maxLength: 32, description: 'user_id: only of rules of this user.' })),
  source: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description: 'Only callers in this CIDR.',
        examples: ['198.51.100.0/24']
      }),
      isPrefix,
      () => 'must be an address or a CIDR such as 198.51.100.0/24'
    )
  ),
  target: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description: 'Only to this address, or address:port.',
        examples: ['10.0.0.7:80']
      }),
      text => parseTarget(text) !== null,
      () => 'must be the address to which it is connected, with or without a port: 10.0.0.7:80'
    )
  ),
  protocol: Type.Optional(
    Type.Union([Type.Literal('tcp'), Type.Literal('udp')], {
      description: 'Only connections, or only flows.'
    })
  )
}

export const Filter = closed(filters)
export type Filter = Static<typeof Filter>

const sort = Type.Optional(
  Type.Unsafe<Sort>({
    ...Sort,
    description: 'What is largest first; default age. rate: bytes a second since it was opened.'
  })
)

export const ListQuery = closed({ ...filters, sort })
export type ListQuery = Static<typeof ListQuery>

export const StreamQuery = closed({
  ...filters,
  sort,
  limit: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: maxRows, default: 100 },
      description: 'How many rows an event has at most: the first by `sort`.'
    })
  )
})
export type StreamQuery = Static<typeof StreamQuery>

export const CloseQuery = closed({
  ...filters,
  dry_run: Type.Optional(Type.Boolean({ description: 'Counts, and closes nothing.' }))
})
export type CloseQuery = Static<typeof CloseQuery>

const Legs = (description: string, example: number) =>
  orNull(
    closed({
      caller: orNull(Type.Number({ description: 'On the way to the caller.', examples: [example] })),
      target: orNull(Type.Number({ description: 'On the way to the target.', examples: [example] }))
    }),
    { description: `${description} null: the client cannot tell, as of flows.` }
  )

const Bytes = (description: string) => Type.Integer({ minimum: 0, description, examples: [1200] })
const Place = (description: string, example: string) => Type.String({ description, examples: [example] })

export const ConnectionRow = closed(
  {
    connection_id: Type.String({
      description: 'Of no other connection, also after a restart of the agent.',
      examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s']
    }),
    client_id: ClientId,
    rule_id: Type.String({ description: 'ULID of a rule.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] }),
    owner: UserId,
    protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'udp: a flow.' }),
    source: Place('Of the caller, host:port.', '198.51.100.7:52011'),
    listen: Place('Where it has connected.', '203.0.113.1:443'),
    target: orNull(Place('To which it is connected; null: not yet.', '10.0.0.7:443')),
    opened_at: timeOf('When it was accepted.'),
    bytes_in: Bytes('Delivered to the target.'),
    bytes_out: Bytes('Delivered to the caller.'),
    idle_secs: Type.Number({ minimum: 0, description: 'Since a byte was delivered.', examples: [0.4] }),
    rtt_ms: Legs('Round trip, as the system has measured it.', 12.5),
    retransmits: Legs('Segments that were sent again.', 0),
    held_by: orNull(
      Type.String({ description: 'The limit or quota for which it waits now.', examples: ['quota ann'] }),
      {
        description: 'null: for none.'
      }
    )
  },
  { $id: 'Connection' }
)
export type ConnectionRow = Static<typeof ConnectionRow>

export const Counts = closed(
  {
    matched: Type.Integer({
      minimum: 0,
      description: 'Open connections and flows that match.',
      examples: [12]
    }),
    closed: Type.Integer({
      minimum: 0,
      description: 'Those that were closed; 0 with dry_run.',
      examples: [12]
    })
  },
  { $id: 'ConnectionsClosed' }
)
export type Counts = Static<typeof Counts>

export const clientStates = ['answered', 'no_answer', 'disconnected', 'unsupported'] as const
export type ClientState = (typeof clientStates)[number]
export const maxClients = 100

const Matched = Type.Integer({
  minimum: 0,
  description: 'Open connections and flows that match.',
  examples: [12]
})
const ClientLook = closed({
  client_id: ClientId,
  client_name: Type.String({ description: 'Its name.', examples: ['paris'] }),
  state: Type.Unsafe<ClientState>({
    ...Type.Union(clientStates.map(state => Type.Literal(state))),
    description:
      'no_answer: not for 3 s. disconnected: it is not connected to the server. unsupported: its agent is too old. Of all three nothing is known, and there may be connections.'
  }),
  matched: orNull(Matched, { description: 'null: it has not answered.' })
})

export const ConnectionsEvent = closed(
  {
    at: timeOf('When the clients were asked.'),
    matched: Matched,
    bytes_in: Bytes('Delivered to targets by all that match and are open.'),
    bytes_out: Bytes('Delivered to callers by all that match and are open.'),
    clients_answered: Type.Integer({
      minimum: 0,
      description: 'Clients of which the figures are.',
      examples: [3]
    }),
    clients_silent: Type.Integer({
      minimum: 0,
      description: 'Clients of which nothing is known.',
      examples: [0]
    }),
    clients: Type.Array(ClientLook, {
      maxItems: maxClients,
      description: 'Those that have not answered first, then those with the most connections.'
    }),
    connections: Type.Array(ConnectionRow, { maxItems: maxRows, description: 'The first by `sort`.' })
  },
  { $id: 'LiveConnections' }
)
export type ConnectionsEvent = Static<typeof ConnectionsEvent>
export type ClientLook = Static<typeof ClientLook>
