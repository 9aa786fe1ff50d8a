// Schemas of the routes: the core of a rule, and the fields that plugins add to it at boot.
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { closed, orNull, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { CoreRecord, ListenPort, Port, Priority, RuleId, type RuleRecord, type Values } from './record.ts'
import { type LoadedField, type RuleField, ruleFieldSlot } from './rule-field.ts'
import { shapeSlot, type TargetView, targetViewSlot } from './slots.ts'
import { targetHost } from './targets.ts'

const Host = Type.String({
  code: targetHost.code,
  description: 'IPv4, IPv6 with or without brackets, or a DNS name.',
  examples: ['10.0.0.7']
})

const Create = Type.Object({
  client: Type.String({ description: 'client_id, or the name of one client.', examples: ['paris'] }),
  listen_port: ListenPort,
  listen_port_end: Type.Optional(
    Type.Union(
      [Type.Integer({ minimum: 1, maximum: 65_535, code: 'validation.range_invalid' }), Type.Null()],
      {
        description: 'Last port of a range that begins at listen_port.'
      }
    )
  ),
  protocol: Type.Optional(
    Type.String({ code: 'validation.protocol', description: 'tcp or udp, in any case.', default: 'tcp' })
  ),
  targets: Type.Array(
    closed({
      host: Host,
      port: Port,
      priority: Type.Optional(
        Type.Integer({ ...Priority, description: 'The lowest is tried first; default is the index.' })
      )
    }),
    { description: '1 to 8, without duplicates.' }
  ),
  prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
  owner: Type.Optional(Type.String({ description: 'user_id; default is the caller.' })),
  placed_by: Type.Optional(
    Type.String({
      description: 'user_id, for superadmins: the owner if grants limit the rule; default is the caller.'
    })
  )
})

/** Core properties, and the values of fields under their keys. */
export type CreateBody = Static<typeof Create> & Values
export type UpdateBody = Partial<Static<typeof Create>> & Values

export const fieldsIn = (filled: SlotReader): LoadedField[] => filled(ruleFieldSlot).map(({ value }) => value)

const viewsIn = (filled: SlotReader): TargetView[] => filled(targetViewSlot).map(({ value }) => value)
const optionalValue = ({ body }: RuleField) => Type.Optional(orNull(body))

const example = { client: 'paris', listen_port: 8443, targets: [{ host: '10.0.0.7', port: 443 }] }

export const createBody = (filled: SlotReader) => {
  const { listen_port_end, ...core } = Create.properties
  const hasRange = filled(shapeSlot).some(({ value }) => value.bodyField === 'listen_port_end')
  return withFields<CreateBody>({ ...core, ...(hasRange && { listen_port_end }) }, filled, optionalValue, {
    $id: 'RuleDefinition',
    examples: [example]
  })
}

/** A rule in the document of `apply`, whose commands know the fields, but not what the server's configuration allows. */
export const documentBody = (filled: SlotReader) =>
  withFields<CreateBody>(Create.properties, filled, optionalValue)

/** Takes the whole body of create, a record as it was read (read-only properties are ignored), or hot fields alone. */
export const updateBody = (filled: SlotReader) => {
  const Readonly = Type.Optional(Type.Unknown({ description: 'Ignored: read-only.' }))
  const views = Object.fromEntries(viewsIn(filled).map(({ key }) => [key, Readonly]))
  const target = Create.properties.targets.items.properties
  const targets = Type.Array(closed({ ...target, port_end: Readonly, ...views }), {
    description: '1 to 8, without duplicates.'
  })
  const readOnly = Object.fromEntries(Object.keys(CoreRecord.properties).map(key => [key, Readonly]))
  const { properties } = Type.Partial(Type.Object({ ...Create.properties, targets }))
  return withFields<UpdateBody>({ ...readOnly, ...properties }, filled, optionalValue, {
    $id: 'RuleUpdate',
    examples: [example]
  })
}

export const ruleRecord = (filled: SlotReader) => {
  const views = Object.fromEntries(viewsIn(filled).map(({ key, schema }) => [key, schema]))
  const target = CoreRecord.properties.targets.items.properties
  const targets = Type.Array(closed({ ...target, ...views }, { $id: 'Target' }), {
    description: 'Where connections go.'
  })
  const fieldOf = ({ body, absent }: RuleField) => (absent === undefined ? orNull(body) : body)
  return withFields<RuleRecord>({ ...CoreRecord.properties, targets }, filled, fieldOf, { $id: 'Rule' })
}

export const RuleParams = Type.Object({ rule_id: RuleId })

export const Wait = closed({
  ack_timeout_secs: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 60, description: 'How long to wait for the client; default 5.' })
  )
})

export const Filter = closed({
  client: Type.Optional(
    Type.String({ description: 'client_id, or a name that several may have.', examples: ['paris'] })
  ),
  owner: Type.Optional(Type.String({ ...UserId, description: 'user_id of the owner.' }))
})

/** A closed object of core properties and fields. Its static type has the core only: fields are known at boot. */
function withFields<T>(
  core: Record<string, TSchema>,
  filled: SlotReader,
  schemaOf: (field: RuleField) => TSchema,
  options: TSchemaOptions = {}
): Type.TUnsafe<T> {
  const fields = fieldsIn(filled).map(field => [field.key, schemaOf(field)])
  return Type.Unsafe<T>(closed({ ...core, ...Object.fromEntries(fields) }, options))
}
