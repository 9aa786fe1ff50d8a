import { type Static, type TSchema, Type } from 'typebox'
import type { SlotReader } from '../../kernel/slot.ts'
import { type RuleField, ruleFieldSlot, shapeSlot, type TargetView, targetViewSlot } from './exports.ts'
import { targetHost } from './targets.ts'

const closed = { additionalProperties: false }
const Port = Type.Integer({ minimum: 1, maximum: 65535 })
const Priority = Type.Integer({ minimum: 0, maximum: 65535 })
const Host = Type.String({
  code: targetHost.code,
  description: 'IPv4, IPv6 with or without brackets, or a DNS name.'
})
const Time = Type.String({ format: 'date-time' })

const Nullable = (schema: TSchema) => Type.Union([schema, Type.Null()])

const Create = Type.Object({
  client: Type.String({ description: 'client_id, or the name of one client.' }),
  listen_port: Port,
  listen_port_end: Type.Optional(
    Type.Union([Port, Type.Null()], { description: 'Last port of a range that begins at listen_port.' })
  ),
  protocol: Type.Optional(
    Type.String({ code: 'validation.protocol', description: 'tcp or udp, in any case.', default: 'tcp' })
  ),
  targets: Type.Array(
    Type.Object(
      {
        host: Host,
        port: Port,
        priority: Type.Optional(
          Type.Integer({ ...Priority, description: 'The lowest is tried first; default is the index.' })
        )
      },
      closed
    )
  ),
  prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Dial IPv6 addresses of a name first.' })),
  owner: Type.Optional(Type.String({ description: 'user_id; default is the caller.' }))
})

const Shown = Type.Object({
  rule_id: Type.String(),
  client_id: Type.String(),
  client_name: Type.String(),
  listen_port: Port,
  listen_port_end: Type.Union([Port, Type.Null()]),
  protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')]),
  targets: Type.Array(
    Type.Object({
      host: Type.String(),
      port: Port,
      port_end: Type.Union([Port, Type.Null()]),
      priority: Priority
    })
  ),
  prefer_ipv6: Type.Boolean(),
  owner: Type.String(),
  state: Type.Union([
    Type.Literal('pending'),
    Type.Literal('active'),
    Type.Literal('failed'),
    Type.Literal('draining')
  ]),
  state_reason: Type.Union([Type.String(), Type.Null()]),
  created_at: Time,
  updated_at: Time,
  state_changed_at: Time
})

/** What every rule has; a field's value stands beside it under the field's key, typed by the field alone. */
export type CreateBody = Static<typeof Create> & Values
export type UpdateBody = Partial<Static<typeof Create>> & Values
export type RuleRecord = Static<typeof Shown> & Values
export type Values = Readonly<Record<string, unknown>>

export const fieldsIn = (filled: SlotReader): RuleField[] => filled(ruleFieldSlot).map(({ value }) => value)

const viewsIn = (filled: SlotReader): TargetView[] => filled(targetViewSlot).map(({ value }) => value)
const given = ({ body }: RuleField) => Type.Optional(Nullable(body))

export const createBody = (filled: SlotReader) => {
  const { listen_port_end, ...core } = Create.properties
  const hasRange = filled(shapeSlot).some(({ value }) => value.bodyField === 'listen_port_end')
  return withFields<CreateBody>({ ...core, ...(hasRange && { listen_port_end }) }, filled, given)
}

/** The whole body of create, a record as it was read, or hot fields alone. */
export const updateBody = (filled: SlotReader) => {
  const Readonly = Type.Optional(Type.Unknown({ description: 'Ignored: of a record that is sent back.' }))
  const views = Object.fromEntries(viewsIn(filled).map(({ key }) => [key, Readonly]))
  const target = Create.properties.targets.items.properties
  const targets = Type.Array(Type.Object({ ...target, port_end: Readonly, ...views }, closed))
  const shown = Object.fromEntries(Object.keys(Shown.properties).map(key => [key, Readonly]))
  const { properties } = Type.Partial(Type.Object({ ...Create.properties, targets }))
  return withFields<UpdateBody>({ ...shown, ...properties }, filled, given)
}

export const ruleRecord = (filled: SlotReader) => {
  const views = Object.fromEntries(viewsIn(filled).map(({ key, schema }) => [key, schema]))
  const target = Shown.properties.targets.items.properties
  const targets = Type.Array(Type.Object({ ...target, ...views }, closed))
  return withFields<RuleRecord>({ ...Shown.properties, targets }, filled, ({ body, absent }) =>
    absent === undefined ? Nullable(body) : body
  )
}

export const RuleParams = Type.Object({ rule_id: Type.String() })

export const Wait = Type.Object(
  {
    ack_timeout_secs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 60, description: 'How long to wait for the client; default 5.' })
    )
  },
  closed
)

export const Filter = Type.Object(
  {
    client: Type.Optional(Type.String({ description: 'client_id, or a name that several may have.' })),
    owner: Type.Optional(Type.String({ description: 'user_id.' }))
  },
  closed
)

/** Refuses unknown fields. The static type is the core's: what plugins add is known at boot only. */
function withFields<T>(
  core: Record<string, TSchema>,
  filled: SlotReader,
  make: (field: RuleField) => TSchema
): Type.TUnsafe<T> {
  const own = fieldsIn(filled).map(field => [field.key, make(field)])
  return Type.Unsafe<T>(Type.Object({ ...core, ...Object.fromEntries(own) }, closed))
}
