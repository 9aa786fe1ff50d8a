import { type Static, Type } from 'typebox'
import { defineCode, invalidSchema } from '../../kernel/base/errors.ts'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'

export const invalidPortRange = defineCode('invalid_port_range', 422, 3)
export const emptyProtocolSet = defineCode('empty_protocol_set', 422, 3)

const portCode = { code: invalidPortRange.code }
const Port = Type.Integer({ minimum: 1, maximum: 65535, ...portCode })
const Protocol = Type.Union([Type.Literal('tcp'), Type.Literal('udp')])
const Targets = Type.Array(Type.String({ maxLength: 300 }), {
  minItems: 1,
  maxItems: 100,
  description:
    'Addresses, CIDRs and host names, each with ports or without: 10.0.0.0/8:443, db.example:5000-5010.'
})

export const CreateBody = closed({
  user_id: Type.String(),
  client_id: Type.Optional(Type.String({ description: 'An id, or * for every client.' })),
  client: Type.Optional(
    Type.String({ description: 'In place of client_id: an id, or the name of one client.' })
  ),
  listen_port_start: Port,
  listen_port_end: Port,
  protocols: Type.Array(
    Type.String({
      pattern: '^([tT][cC][pP]|[uU][dD][pP])$',
      code: invalidSchema.code,
      description: 'tcp or udp, in any case.'
    }),
    { description: 'At least one.' }
  ),
  targets: Type.Optional(orNull(Targets)),
  note: Type.Optional(orNull(Type.String({ maxLength: 255, description: 'Free text.' })))
})
export type CreateBody = Static<typeof CreateBody>

export const GrantRow = closed({
  grant_id: Type.String(),
  user_id: Type.String(),
  client_id: Type.String({ description: '* is every client.' }),
  client_name: orNull(Type.String()),
  listen_port_start: Type.Integer(),
  listen_port_end: Type.Integer(),
  protocols: Type.Array(Protocol),
  targets: orNull(Type.Array(Type.String())),
  note: orNull(Type.String()),
  created_at: Time
})
export type GrantRow = Static<typeof GrantRow>

export const Removed = closed({ grant_id: Type.String(), removed_rule_ids: Type.Array(Type.String()) })

export const GrantParams = closed({ id: Type.String() })
export const Filter = closed({ user_id: Type.Optional(Type.String()) })
