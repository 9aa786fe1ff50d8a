// A rule as JSON.
import { type Static, Type } from 'typebox'
import { ClientId, orNull, timeOf, UserId } from '../../../kernel/http/schema.ts'

export const RuleId = Type.String({
  description: 'ULID of a rule.',
  examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB']
})
export const Port = Type.Integer({
  minimum: 1,
  maximum: 65535,
  description: 'Port of the target; the first port of a range.',
  examples: [443]
})
export const ListenPort = Type.Integer({
  minimum: 1,
  maximum: 65535,
  description: 'Port on the client; the first port of a range.',
  examples: [8443]
})
export const Priority = Type.Integer({
  minimum: 0,
  maximum: 65535,
  description: 'The lowest is tried first.',
  examples: [0]
})

export const Weight = Type.Integer({
  minimum: 0,
  maximum: 256,
  code: 'validation.weight',
  description:
    'Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.',
  examples: [1]
})

/** Fields add more states with `rules.shown-state`. */
export const coreStates = ['pending', 'active', 'paused', 'failed', 'draining']

export const stateSchema = (all: readonly string[]) =>
  Type.Unsafe<string>(
    Type.Union(
      all.map(state => Type.Literal(state)),
      {
        description:
          'active: the client forwards. paused: it keeps the port closed. failed: see `state_reason`. draining: live connections end.',
        examples: ['active']
      }
    )
  )

/** A record without the fields of other plugins. */
export const CoreRecord = Type.Object({
  rule_id: RuleId,
  client_id: orNull(ClientId, { description: 'Null for a group rule.' }),
  client_name: orNull(Type.String(), { description: 'Name of the client.', examples: ['paris'] }),
  listen_port: ListenPort,
  listen_port_end: orNull(
    Type.Integer({ minimum: 1, maximum: 65535, description: 'Last port of a range; null: one port.' }),
    { examples: [null] }
  ),
  protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'What is forwarded.' }),
  targets: Type.Array(
    Type.Object({
      host: Type.String({ description: 'Address or DNS name, normalised.', examples: ['10.0.0.7'] }),
      port: Port,
      port_end: orNull(
        Type.Integer({
          minimum: 1,
          maximum: 65535,
          description: 'Port for the last port of a range; null: one port.'
        }),
        { examples: [null] }
      ),
      priority: Priority,
      weight: Weight
    })
  ),
  prefer_ipv6: Type.Boolean({
    description: 'The IPv6 addresses of a name are tried first.',
    examples: [false]
  }),
  owner: Type.String({ ...UserId, description: 'user_id of the owner.' }),
  placed_by: Type.String({
    ...UserId,
    description: 'The owner, or an operator or a superadmin: then grants do not limit the rule.'
  }),
  paused: Type.Boolean({ description: 'Its port stays taken, and nothing is forwarded.', examples: [false] }),
  state: stateSchema(coreStates),
  state_reason: orNull(Type.String(), { description: 'Why it is not active, as a code.', examples: [null] }),
  change_pending: Type.Boolean({
    description: 'A client has not applied the last change yet: what it applied before is in force.',
    examples: [false]
  }),
  created_at: timeOf('When it was created.'),
  updated_at: timeOf('When it was changed last.'),
  state_changed_at: timeOf('When its state changed last.'),
  etag: Type.String({
    description: 'ETag of the rule, for If-Match; it differs after a change.',
    examples: ['"9f86d081884c7d65"']
  })
})

/** Values of rule fields by key. Only the owning plugins know their types. */
export type Values = Readonly<Record<string, unknown>>

export type RuleRecord = Static<typeof CoreRecord> & Values
