import { type Static, Type } from 'typebox'
import { defineCode, invalidSchema } from '../../kernel/base/errors.ts'
import { ClientId, closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { listFilterSlots, listFilters, recordFieldSlots, recordFields, UserFilter } from '../http/exports.ts'

type Values = Readonly<Record<string, unknown>>

export const invalidPortRange = defineCode('invalid_port_range', 422, 3)
export const grantPorts = defineCode('validation.grant_ports', 400, 3)
export const emptyProtocolSet = defineCode('empty_protocol_set', 422, 3)

const portCode = { code: invalidPortRange.code }
const Port = (description: string, example: number) =>
  Type.Integer({ minimum: 1, maximum: 65535, ...portCode, description, examples: [example] })
const Start = Port('First listen port.', 8000)
const End = Port('Last listen port.', 8999)
const Protocol = Type.Union([Type.Literal('tcp'), Type.Literal('udp')])
const Targets = Type.Array(Type.String({ maxLength: 300 }), {
  minItems: 1,
  maxItems: 100,
  description:
    'Addresses, CIDRs and host names, optionally with ports: 10.0.0.0/8:443, db.example:5000-5010.',
  examples: [['10.0.0.0/8']]
})

const Use = Type.Union([Type.Literal('listen'), Type.Literal('exit')], {
  description: 'listen (default): create rules on the client. exit: use it as an exit or a relay of rules.'
})
const Entries = Type.Array(Type.String({ maxLength: 26, description: 'Id of a client.' }), {
  minItems: 1,
  maxItems: 100
})
const Note = Type.String({ maxLength: 255, description: 'Free text.' })

const Create = Type.Object({
  user_id: UserId,
  client_id: Type.Optional(Type.String({ description: 'Id of a client, or * for every client.' })),
  client: Type.Optional(
    Type.String({
      description: 'Instead of client_id: an id, or the unique name of a client.',
      examples: ['paris']
    })
  ),
  use: Type.Optional(Use),
  listen_port_start: Type.Optional(orNull(Start, { description: 'Required, except for an exit grant.' })),
  listen_port_end: Type.Optional(orNull(End, { description: 'Required, except for an exit grant.' })),
  protocols: Type.Array(
    Type.String({
      pattern: '^([tT][cC][pP]|[uU][dD][pP])$',
      code: invalidSchema.code,
      description: 'tcp or udp, in any case.',
      examples: ['tcp']
    }),
    { description: 'At least one.' }
  ),
  targets: Type.Optional(orNull(Targets)),
  entries: Type.Optional(
    orNull(Entries, {
      description: 'Only for an exit grant: the clients of the rules that may use it. null: any.'
    })
  ),
  note: Type.Optional(orNull(Note))
})
export type CreateBody = Static<typeof Create> & Values

const { client_id, client, use, protocols } = Create.properties

/** The body of a grant without its user and the fields of other plugins, for configurations, which have no null. */
export const GrantTemplate = closed({
  client_id,
  client,
  use,
  listen_port_start: Type.Optional(Start),
  listen_port_end: Type.Optional(End),
  protocols,
  targets: Type.Optional(Targets),
  entries: Type.Optional(Entries),
  note: Type.Optional(Note)
})
export type GrantTemplate = Static<typeof GrantTemplate>

export type UpdateBody = { readonly note?: string | null } & Values

export const fieldsIn = (filled: SlotReader) => filled(recordFieldSlots.grant)

export const createBody = (filled: SlotReader) =>
  Type.Unsafe<CreateBody>(closed({ ...Create.properties, ...recordFields.given(fieldsIn(filled)) }))

export const updateBody = (filled: SlotReader) =>
  Type.Unsafe<UpdateBody>(closed({ note: Create.properties.note, ...recordFields.patched(fieldsIn(filled)) }))

const GrantId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NG'] })

const Row = Type.Object({
  grant_id: GrantId,
  user_id: UserId,
  client_id: Type.String({ ...ClientId, description: '* is every client.' }),
  client_name: orNull(Type.String({ description: 'null: every client.', examples: ['paris'] })),
  use: Use,
  listen_port_start: orNull(Type.Integer({ description: 'First listen port; null for an exit grant.' }), {
    examples: [8000]
  }),
  listen_port_end: orNull(Type.Integer({ description: 'Last listen port; null for an exit grant.' }), {
    examples: [8999]
  }),
  protocols: Type.Array(Protocol, { description: 'Allowed protocols.' }),
  targets: orNull(
    Type.Array(Type.String(), { description: 'null: every target.', examples: [['10.0.0.0/8']] })
  ),
  entries: orNull(Type.Array(Type.String(), { description: 'Clients whose rules may use the exit.' }), {
    description: 'null: any, or a listen grant.',
    examples: [null]
  }),
  note: orNull(Type.String({ description: 'Free text.', examples: ['ticket 4711'] })),
  source: orNull(
    Type.String({ description: 'Who gives the grant, such as oidc:corp. null: given by hand.' }),
    {
      examples: [null]
    }
  ),
  created_at: timeOf('When the grant was created.')
})
export type GrantRow = Static<typeof Row> & Values

export const grantRow = (filled: SlotReader) =>
  Type.Unsafe<GrantRow>(
    closed({ ...Row.properties, ...recordFields.shown(fieldsIn(filled)) }, { $id: 'Grant' })
  )

export const RemovedGrant = closed({
  grant_id: GrantId,
  removed_rule_ids: Type.Array(Type.String(), {
    description: 'Deleted rules, which no other grant allows.',
    examples: [['01KCD3F0P7Q4Y6Z8V1T5S9R2NB']]
  })
})

export type RemovedGrant = Static<typeof RemovedGrant>

export const GrantParams = closed({ grant_id: GrantId })
const Filter = Type.Object({
  user_id: Type.Optional(UserFilter('Only grants of this user.'))
})

export const listQuery = (filled: SlotReader) =>
  Type.Unsafe<Static<typeof Filter> & Values>(closed({ ...Filter.properties, ...filterParameters(filled) }))

export const filterParameters = (filled: SlotReader) => listFilters.parameters(filled(listFilterSlots.grant))
