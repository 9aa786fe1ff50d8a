import { type Static, Type } from 'typebox'
import { ClientId, closed, timeOf } from '../../kernel/http/schema.ts'
import { invalidBan } from './field.ts'
import { maxBanSecs } from './wire.ts'

const { code } = invalidBan
const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const BanId = Type.String({ description: 'Of the ban.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NC'] })
const Source = Type.String({
  ...{ maxLength: 64, code, examples: ['198.51.100.7'] },
  description: 'An address or a prefix; an agent bans an IPv4 address, or the /64 of an IPv6 address.'
})
const Live = Type.Union([Type.Literal('cut'), Type.Literal('keep')], {
  code,
  description: 'What became of open connections of the source.'
})

export const BanRecord = closed(
  {
    ban_id: BanId,
    source: Source,
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.' }),
    rule_id: nullable(Type.String(), 'The rule from which it is banned; null: all rules of the client.'),
    cause: Type.Union(
      [Type.Literal('operator'), Type.Literal('new_connections'), Type.Literal('failed_handshakes')],
      { description: 'What has led to it.' }
    ),
    reason: nullable(Type.String(), 'As the operator has given it.'),
    made_by: nullable(Type.String(), 'user_id of the operator; null: the agent of the client.'),
    times: Type.Integer({
      minimum: 1,
      description: 'Bans of the source from the rule, each within a day of the one before.'
    }),
    live: Live,
    from: timeOf('When it began.'),
    until: timeOf('When it ends, or would have ended.'),
    state: Type.Union([Type.Literal('in_force'), Type.Literal('ended'), Type.Literal('lifted')], {
      description: 'Whether it holds.'
    }),
    lifted_by: nullable(Type.String(), 'user_id of who has lifted it.')
  },
  { $id: 'Ban' }
)
export type BanRecord = Static<typeof BanRecord>

export const BanBody = Type.Object(
  {
    source: Source,
    client: Type.Optional(
      Type.String({ maxLength: 64, description: 'client_id. Without it and rule_id: every client there is.' })
    ),
    rule_id: Type.Optional(Type.String({ maxLength: 26, description: 'One rule, on all its clients.' })),
    for_secs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxBanSecs, code, description: 'Default 3600.' })
    ),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, code, description: 'For those who look later.' })
    ),
    live: Type.Optional(Live)
  },
  { additionalProperties: false, examples: [{ source: '198.51.100.7', for_secs: 86400, reason: 'scans' }] }
)
export type BanBody = Static<typeof BanBody>

export const BansMade = closed({ bans: Type.Array(BanRecord, { description: 'One for each client.' }) })

export const BanQuery = closed({
  client: Type.Optional(Type.String({ maxLength: 64, description: 'client_id.' })),
  rule_id: Type.Optional(
    Type.String({
      maxLength: 26,
      description: 'Bans from this rule, and those from all rules of its clients.'
    })
  ),
  state: Type.Optional(
    Type.Union([Type.Literal('in_force'), Type.Literal('all')], {
      description: 'Default in_force; all: also those that ended within 30 days.'
    })
  )
})
export type BanQuery = Static<typeof BanQuery>

export const BanParams = closed({ ban_id: Type.String({ maxLength: 64 }) })
