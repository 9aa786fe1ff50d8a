import { type Static, Type } from 'typebox'
import { ClientId, closed, timeOf } from '../../kernel/http/schema.ts'
import { IdFilter } from '../http/exports.ts'
import { invalidBan } from './field.ts'
import { maxBanSecs } from './wire.ts'

const { code } = invalidBan
const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const BanId = Type.String({ description: 'Id of the ban.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NC'] })
const Source = Type.String({
  maxLength: 64,
  code,
  examples: ['198.51.100.7'],
  description: 'An address or a prefix. Agents ban an IPv4 address, or the /64 of an IPv6 address.'
})
const Live = Type.Union([Type.Literal('cut'), Type.Literal('keep')], {
  code,
  description: 'Whether open connections of the source are closed (`cut`) or stay open (`keep`).'
})

export const BanRecord = closed(
  {
    ban_id: BanId,
    source: Source,
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.' }),
    rule_id: nullable(
      Type.String(),
      'The rule that the source is banned from; null: all rules of the client.'
    ),
    cause: Type.Union(
      [Type.Literal('operator'), Type.Literal('new_connections'), Type.Literal('failed_handshakes')],
      { description: 'Why the source is banned.' }
    ),
    reason: nullable(Type.String(), 'The reason that the operator gave.'),
    made_by: nullable(Type.String(), 'user_id of the operator; null: the agent of the client.'),
    times: Type.Integer({
      minimum: 1,
      description: 'Consecutive bans of the source from the rule, each within a day of the previous one.'
    }),
    live: Live,
    from: timeOf('When the ban began.'),
    until: timeOf('When the ban ends; for a lifted ban, when it would have ended.'),
    state: Type.Union([Type.Literal('in_force'), Type.Literal('ended'), Type.Literal('lifted')], {
      description: 'Whether the ban is in force.'
    }),
    lifted_by: nullable(Type.String(), 'user_id of the operator who lifted it.')
  },
  { $id: 'Ban' }
)
export type BanRecord = Static<typeof BanRecord>

export const BanBody = Type.Object(
  {
    source: Source,
    client: Type.Optional(
      Type.String({ maxLength: 64, description: 'client_id. Without it and rule_id: every current client.' })
    ),
    rule_id: Type.Optional(Type.String({ maxLength: 26, description: 'One rule, on all its clients.' })),
    for_secs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxBanSecs, code, description: 'Default 3600.' })
    ),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, code, description: 'Note for other operators.' })
    ),
    live: Type.Optional(Live)
  },
  { additionalProperties: false, examples: [{ source: '198.51.100.7', for_secs: 86400, reason: 'scans' }] }
)
export type BanBody = Static<typeof BanBody>

export const BansMade = closed({ bans: Type.Array(BanRecord, { description: 'One ban per client.' }) })

export const BanQuery = closed({
  client: Type.Optional(IdFilter('client_id.')),
  rule_id: Type.Optional(IdFilter('Only bans from this rule, or from all rules of its clients.')),
  state: Type.Optional(
    Type.Union([Type.Literal('in_force'), Type.Literal('all')], {
      description: 'Default in_force; all adds bans that ended or were lifted within 30 days.'
    })
  )
})
export type BanQuery = Static<typeof BanQuery>

export const BanParams = closed({ ban_id: Type.String({ maxLength: 64 }) })
