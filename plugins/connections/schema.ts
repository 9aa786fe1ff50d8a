import { isIP } from 'node:net'
import { type Static, type TObject, type TProperties, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { ClientId, closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { IdFilter, UserFilter } from '../http/exports.ts'
import { connectionPathsSlot, protocolName } from '../rules/exports.ts'
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
  rule_id: Type.Optional(IdFilter('Connections of this rule.')),
  owner: Type.Optional(UserFilter('user_id: connections of rules of this user.')),
  source: Type.Optional(
    Type.Refine(
      Type.String({ maxLength: 64, description: 'Callers in this CIDR.', examples: ['198.51.100.0/24'] }),
      isPrefix,
      () => 'must be an address or a CIDR such as 198.51.100.0/24'
    )
  ),
  target: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description: 'Connections to this address, or address:port.',
        examples: ['10.0.0.7:80']
      }),
      text => parseTarget(text) !== null,
      () => 'must be the address of a target, with or without a port: 10.0.0.7:80'
    )
  ),
  protocol: Type.Optional(protocolName('tcp: connections; udp: flows; in any case.'))
}

const Filter = Type.Object(filters)
/** The filters of this plugin; a query also has that of the plugin with paths. */
export type Filter = Static<typeof Filter>

const sort = Type.Optional(
  Type.Unsafe<Sort>({
    ...Sort,
    description: 'Sort key, largest first; default age. rate: bytes per second since the connection opened.'
  })
)

const ListQuery = Type.Object({ ...filters, sort })
export type ListQuery = Static<typeof ListQuery>

const StreamQuery = Type.Object({
  ...filters,
  sort,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxRows,
      default: 100,
      description: 'Maximum number of rows in an event: the first by `sort`.'
    })
  )
})
export type StreamQuery = Static<typeof StreamQuery>

const CloseQuery = Type.Object({
  ...filters,
  dry_run: Type.Optional(Type.Boolean({ description: 'Counts matches and closes nothing.' }))
})
export type CloseQuery = Static<typeof CloseQuery>

/** Returns a schema with the filter of the plugin with paths. */
function withPathFilter<Q extends TObject>(query: Q, filled: SlotReader) {
  const added = filled(connectionPathsSlot).map(({ value: { parameter, schema } }) => [
    parameter,
    Type.Optional(schema)
  ])
  const properties: TProperties = { ...query.properties, ...Object.fromEntries(added) }
  return Type.Unsafe<Static<Q>>(closed(properties))
}

export const listQuery = (filled: SlotReader) => withPathFilter(ListQuery, filled)
export const streamQuery = (filled: SlotReader) => withPathFilter(StreamQuery, filled)
export const closeQuery = (filled: SlotReader) => withPathFilter(CloseQuery, filled)

const Legs = (description: string, example: number) =>
  orNull(
    closed({
      caller: orNull(Type.Number({ description: 'Between agent and caller.', examples: [example] })),
      target: orNull(Type.Number({ description: 'Between agent and target.', examples: [example] }))
    }),
    { description: `${description} null: not available, for example for flows.` }
  )

const Bytes = (description: string) => Type.Integer({ minimum: 0, description, examples: [1200] })
const Address = (description: string, example: string) => Type.String({ description, examples: [example] })

const ConnectionProperties = Type.Object({
  connection_id: Type.String({
    description: 'Unique, even across restarts of the agent.',
    examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s']
  }),
  client_id: ClientId,
  rule_id: Type.String({ description: 'ULID of a rule.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] }),
  rule_name: orNull(Type.String({ description: 'Name of the rule.', examples: ['web'] })),
  owner: UserId,
  protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'udp: a flow.' }),
  source: Address('Address of the caller, host:port.', '198.51.100.7:52011'),
  listen: Address('Local address that the caller connected to.', '203.0.113.1:443'),
  target: orNull(Address('Address of the target; null: still connecting.', '10.0.0.7:443')),
  divert: orNull(
    Type.String({
      description: 'The plugin that diverts the caller: `target` is not one of the rule.',
      examples: ['tarpit']
    }),
    { description: 'null: a target of the rule.' }
  ),
  opened_at: timeOf('Time of acceptance.'),
  bytes_in: Bytes('Delivered to the target.'),
  bytes_out: Bytes('Delivered to the caller.'),
  idle_secs: Type.Number({
    minimum: 0,
    description: 'Seconds since the last delivered byte.',
    examples: [0.4]
  }),
  rtt_ms: Legs('Round-trip time in ms, as measured by the kernel.', 12.5),
  retransmits: Legs('Retransmitted segments.', 0),
  held_by: orNull(
    Type.String({ description: 'The limit or quota that delays it now.', examples: ['quota ann'] }),
    { description: 'null: none.' }
  )
})
export type ConnectionRow = Static<typeof ConnectionProperties>

/** Returns the schema of a row with the properties of the plugin with paths. */
export function connectionRow(filled: SlotReader) {
  const added = filled(connectionPathsSlot).map(({ value }) => value.properties)
  const properties: TProperties = Object.assign({}, ConnectionProperties.properties, ...added)
  return Type.Unsafe<ConnectionRow>(closed(properties, { $id: 'Connection' }))
}

export const Counts = closed(
  {
    matched: Type.Integer({
      minimum: 0,
      description: 'Open connections and flows that match.',
      examples: [12]
    }),
    closed: Type.Integer({
      minimum: 0,
      description: 'Closed connections and flows; 0 with dry_run.',
      examples: [12]
    })
  },
  { $id: 'ConnectionsClosed' }
)
export type Counts = Static<typeof Counts>

const clientStates = ['answered', 'no_answer', 'disconnected', 'unsupported'] as const
export type ClientState = (typeof clientStates)[number]
export const maxClients = 100

const Matched = Type.Integer({
  minimum: 0,
  description: 'Open connections and flows that match.',
  examples: [12]
})
const ClientStatus = closed({
  client_id: ClientId,
  client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
  state: Type.Unsafe<ClientState>({
    ...Type.Union(clientStates.map(state => Type.Literal(state))),
    description:
      'no_answer: none for 3 s. disconnected: offline. unsupported: its agent is too old. In these three states its connections are unknown.'
  }),
  matched: orNull(Matched, { description: 'null: unknown.' })
})

export const connectionsEvent = (filled: SlotReader) =>
  closed(
    {
      at: timeOf('Time of the poll.'),
      matched: Matched,
      bytes_in: Bytes('Delivered to targets by all matching open connections.'),
      bytes_out: Bytes('Delivered to callers by all matching open connections.'),
      clients_answered: Type.Integer({
        minimum: 0,
        description: 'Clients included in the figures.',
        examples: [3]
      }),
      clients_silent: Type.Integer({ minimum: 0, description: 'Clients without an answer.', examples: [0] }),
      clients: Type.Array(ClientStatus, {
        maxItems: maxClients,
        description: 'Clients without an answer first, then those with the most connections.'
      }),
      connections: Type.Array(connectionRow(filled), {
        maxItems: maxRows,
        description: 'The first rows by `sort`.'
      })
    },
    { $id: 'LiveConnections' }
  )
export type ConnectionsEvent = Static<ReturnType<typeof connectionsEvent>>
export type ClientStatus = Static<typeof ClientStatus>
