import { type Static, Type } from 'typebox'

const Count = () => Type.Integer({ minimum: 0 })

const closed = { additionalProperties: false }

export const Flags = Type.Object(
  {
    per_port: Type.Optional(Type.Boolean({ description: 'Also by listen port.' })),
    per_target: Type.Optional(Type.Boolean({ description: 'Also by target.' }))
  },
  closed
)

const PortStats = Type.Object(
  {
    listen_port: Count(),
    bytes_in: Count(),
    bytes_out: Count(),
    active_connections: Type.Integer({ minimum: 0, description: 'Flows, of a UDP rule.' }),
    datagrams_in: Count(),
    datagrams_out: Count()
  },
  closed
)
export type PortStats = Static<typeof PortStats>

const TargetStats = Type.Object(
  {
    host: Type.String(),
    port: Count(),
    priority: Count(),
    health: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')]),
    bytes_in: Count(),
    bytes_out: Count(),
    connections_total: Count(),
    consecutive_failures: Count()
  },
  closed
)
export type TargetStats = Static<typeof TargetStats>

export const RuleStats = Type.Object(
  {
    rule_id: Type.String(),
    client_id: Type.String(),
    protocol: Type.String(),
    bytes_in: Type.Integer({ minimum: 0, description: 'Delivered to the target.' }),
    bytes_out: Type.Integer({ minimum: 0, description: 'Delivered to the caller.' }),
    active_connections: Type.Integer({ minimum: 0, description: '0 once the client is away for 30 s.' }),
    connections_total: Count(),
    dns_failures: Count(),
    datagrams_in: Count(),
    datagrams_out: Count(),
    active_flows: Count(),
    flows_dropped_overflow: Count(),
    target_failovers: Count(),
    rejected: Type.Record(Type.String(), Count(), {
      description: 'Refused connections, and dropped datagrams, by reason.'
    }),
    updated_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    per_port: Type.Optional(Type.Array(PortStats)),
    per_target: Type.Optional(Type.Array(TargetStats))
  },
  closed
)
export type RuleStats = Static<typeof RuleStats>

export const Summary = Type.Object(
  {
    clients: Type.Object({ total: Count(), connected: Count() }, closed),
    rules: Type.Object(
      {
        total: Type.Integer({ minimum: 0, description: 'Of any state.' }),
        active: Count(),
        failed: Count()
      },
      closed
    ),
    bytes_in: Type.Integer({ minimum: 0, description: 'Delivered to targets, by the rules that are there.' }),
    bytes_out: Type.Integer({
      minimum: 0,
      description: 'Delivered to callers, by the rules that are there.'
    }),
    active_connections: Count()
  },
  closed
)
export type Summary = Static<typeof Summary>
