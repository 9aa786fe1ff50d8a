import { type Static, Type } from 'typebox'

const Count = () => Type.Integer({ minimum: 0 })

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
    rejected: Type.Record(Type.String(), Count(), { description: 'Refused connections by reason.' }),
    updated_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()])
  },
  { additionalProperties: false }
)
export type RuleStats = Static<typeof RuleStats>

const closed = { additionalProperties: false }

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
