import { type Static, Type } from 'typebox'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'

export const RuleId = Type.String({
  description: 'ULID of a rule.',
  examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB']
})

const Count = (description: string, example = 0) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

export const Flags = closed({
  per_port: Type.Optional(Type.Boolean({ description: 'Also by listen port.' })),
  per_target: Type.Optional(Type.Boolean({ description: 'Also by target.' })),
  per_client: Type.Optional(Type.Boolean({ description: 'Also by client.' }))
})

const PortStats = closed(
  {
    listen_port: Count('Port on the client.', 8443),
    bytes_in: Count('Delivered to the target.', 1_200),
    bytes_out: Count('Delivered to the caller.', 56_000),
    active_connections: Count('For a UDP rule: flows.'),
    datagrams_in: Count('Delivered to the target.'),
    datagrams_out: Count('Delivered to the caller.')
  },
  { $id: 'PortStats' }
)
export type PortStats = Static<typeof PortStats>

const TargetStats = closed(
  {
    host: Type.String({ description: 'Host of the target.', examples: ['10.0.0.7'] }),
    port: Count('Port of the target.', 443),
    priority: Count('The target with the lowest number is tried first.'),
    health: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')], {
      description: 'Health as its client sees it.'
    }),
    bytes_in: Count('Delivered to the target.', 1_200),
    bytes_out: Count('Delivered to the caller.', 56_000),
    connections_total: Count('Accepted so far.', 17),
    consecutive_failures: Count('Failed dials since the last successful dial.')
  },
  { $id: 'TargetStats' }
)
export type TargetStats = Static<typeof TargetStats>

const counts = {
  bytes_in: Count('Delivered to the target.'),
  bytes_out: Count('Delivered to the caller.'),
  active_connections: Count('Open TCP connections; 0 after the client is offline for 30 s.'),
  connections_total: Count('Accepted so far.', 17),
  dns_failures: Count('Connections and datagrams without a resolved target address.'),
  datagrams_in: Count('Delivered to the target.'),
  datagrams_out: Count('Delivered to the caller.'),
  active_flows: Count('Open UDP flows.'),
  flows_dropped_overflow: Count('UDP flows dropped at the flow cap.'),
  target_failovers: Count(
    'Connections and flows that another target took after a failed dial. Also counts each time a flow left a target that did not answer.'
  ),
  rejected: Type.Record(Type.String(), Count('Refusals for one reason.'), {
    description: 'Refused connections, and dropped datagrams, by reason.',
    examples: [{ descriptors: 1 }]
  }),
  updated_at: orNull(timeOf('Last report of the client.'))
}

const ClientStats = closed(
  {
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
    ...counts
  },
  { $id: 'ClientStats', description: 'Traffic of the rule on one client.' }
)

export const RuleStats = closed(
  {
    rule_id: RuleId,
    client_id: orNull(ClientId, {
      description: 'Null for a group rule: all counts are sums over its members.'
    }),
    protocol: Type.String({ description: 'tcp or udp.', examples: ['tcp'] }),
    ...counts,
    per_port: Type.Optional(Type.Array(PortStats, { description: 'With per_port=true.' })),
    per_target: Type.Optional(Type.Array(TargetStats, { description: 'With per_target=true.' })),
    per_client: Type.Optional(Type.Array(ClientStats, { description: 'With per_client=true.' }))
  },
  { $id: 'RuleStats' }
)
export type RuleStats = Static<typeof RuleStats>

export const Summary = closed(
  {
    clients: closed(
      { total: Count('All clients.', 3), connected: Count('Clients with a control stream.', 2) },
      { description: 'Counts of clients.' }
    ),
    rules: closed(
      {
        total: Count('Rules in any state.', 3),
        active: Count('Rules that forward.', 3),
        failed: Count('Rules that their clients refused.')
      },
      { description: 'Counts of rules.' }
    ),
    bytes_in: Count('Delivered to targets by existing rules.'),
    bytes_out: Count('Delivered to callers by existing rules.'),
    active_connections: Count('Open connections and flows.', 2)
  },
  { $id: 'StatsSummary' }
)
export type Summary = Static<typeof Summary>
