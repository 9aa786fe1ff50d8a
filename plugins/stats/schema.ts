import { type Static, Type } from 'typebox'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'

const Count = (description?: string) => Type.Integer({ minimum: 0, ...(description && { description }) })

export const Flags = closed({
  per_port: Type.Optional(Type.Boolean({ description: 'Also by listen port.' })),
  per_target: Type.Optional(Type.Boolean({ description: 'Also by target.' }))
})

const PortStats = closed({
  listen_port: Count(),
  bytes_in: Count(),
  bytes_out: Count(),
  active_connections: Count('For a UDP rule: flows.'),
  datagrams_in: Count(),
  datagrams_out: Count()
})
export type PortStats = Static<typeof PortStats>

const TargetStats = closed({
  host: Type.String(),
  port: Count(),
  priority: Count(),
  health: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')]),
  bytes_in: Count(),
  bytes_out: Count(),
  connections_total: Count(),
  consecutive_failures: Count()
})
export type TargetStats = Static<typeof TargetStats>

export const RuleStats = closed({
  rule_id: Type.String(),
  client_id: Type.String(),
  protocol: Type.String(),
  bytes_in: Count('Delivered to the target.'),
  bytes_out: Count('Delivered to the caller.'),
  active_connections: Count('0 once the client has been disconnected for 30 s.'),
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
  updated_at: orNull(Time),
  per_port: Type.Optional(Type.Array(PortStats)),
  per_target: Type.Optional(Type.Array(TargetStats))
})
export type RuleStats = Static<typeof RuleStats>

export const Summary = closed({
  clients: closed({ total: Count(), connected: Count() }),
  rules: closed({
    total: Count('Of any state.'),
    active: Count(),
    failed: Count()
  }),
  bytes_in: Count('Delivered to targets by existing rules.'),
  bytes_out: Count('Delivered to callers by existing rules.'),
  active_connections: Count()
})
export type Summary = Static<typeof Summary>
