// Schemas of the routes: the core of a rule, and the fields that plugins add to it at boot.
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { closed, orNull, UserId } from '../../../kernel/http/schema.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { targetHost } from '../changes/parse-targets.ts'
import {
  isSent,
  type LoadedField,
  type RuleField,
  ruleFieldSlot,
  type ServerField
} from '../fields/rule-field.ts'
import { Edge, partialState } from '../group-rules/edges.ts'
import { shapeSlot, shownStateSlot, type TargetView, targetViewSlot } from '../slots.ts'
import {
  CoreRecord,
  coreStates,
  ListenPort,
  Port,
  Priority,
  RuleId,
  type RuleRecord,
  stateSchema,
  type Values,
  Weight
} from './rule-record.ts'

const Host = Type.String({
  code: targetHost.code,
  description: 'IPv4, IPv6 with or without brackets, or a DNS name.',
  examples: ['10.0.0.7']
})

const ClientRef = Type.String({
  description: 'client_id, or the name of one client.',
  examples: ['paris']
})

const lastPort = (options: TSchemaOptions = {}) =>
  Type.Optional(
    orNull(Type.Integer({ minimum: 1, maximum: 65_535, code: 'validation.range_invalid' }), {
      description: 'Last port of a range that begins at listen_port.',
      ...options
    })
  )

const Definition = Type.Object({
  client: Type.Optional(ClientRef),
  listen_port: ListenPort,
  listen_port_end: lastPort(),
  protocol: Type.Optional(
    Type.String({ code: 'validation.protocol', description: 'tcp or udp, in any case.', default: 'tcp' })
  ),
  targets: Type.Array(
    closed({
      host: Host,
      port: Port,
      priority: Type.Optional(
        Type.Integer({ ...Priority, description: 'The lowest is tried first; default is the index.' })
      ),
      weight: Type.Optional(Type.Integer({ ...Weight, default: 1 }))
    }),
    { description: '1 to 8, without duplicates.' }
  ),
  prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
  owner: Type.Optional(Type.String({ description: 'user_id; default is the caller.' })),
  placed_by: Type.Optional(
    Type.String({
      description: 'user_id, for superadmins: the owner if grants limit the rule; default is the caller.'
    })
  ),
  paused: Type.Optional(
    Type.Boolean({ description: 'Keep the port, and forward nothing; default false.', examples: [false] })
  )
})

const IfOffline = Type.Optional(
  Type.Union([Type.Literal('refuse'), Type.Literal('queue')], {
    description: 'Of a client that is not connected. queue: the rule is pending until the client is back.',
    default: 'refuse'
  })
)

/** Core properties, and the values of fields under their keys. */
export type DefinitionBody = Static<typeof Definition> & Values
export type CreateBody = DefinitionBody & { readonly if_offline?: Static<typeof IfOffline> }
export type UpdateBody = Partial<Static<typeof Definition>> & Values
/** Null takes a value away. */
export type PatchBody = Pick<UpdateBody, 'targets' | 'placed_by'> & Values

export const fieldsIn = (filled: SlotReader): LoadedField[] => filled(ruleFieldSlot).map(({ value }) => value)

export type PlacingField = LoadedField & ServerField

/** Returns the field that places rules on several clients, if there is one. */
export const placingIn = (filled: SlotReader): PlacingField | undefined =>
  fieldsIn(filled).find((field): field is PlacingField => !isSent(field) && field.clientsOf !== undefined)

const viewsIn = (filled: SlotReader): TargetView[] => filled(targetViewSlot).map(({ value }) => value)

/** `x-requires`: the document tells what an agent must be capable of, so that forms offer what it can do. */
const optionalValue = (field: RuleField) =>
  Type.Optional(orNull(field.body, isSent(field) ? { 'x-requires': field.requires.capability } : {}))

const example = { client: 'paris', listen_port: 8443, targets: [{ host: '10.0.0.7', port: 443 }] }

/** A rule needs `client` where no field places it on several. */
const clientSchema = (filled: SlotReader): TSchema =>
  placingIn(filled) ? Type.Optional(ClientRef) : ClientRef

const definitionProperties = (filled: SlotReader) => {
  const { listen_port_end: _, client: __, ...core } = Definition.properties
  const range = filled(shapeSlot).find(({ value }) => value.bodyField === 'listen_port_end')?.value
  const end = range && lastPort({ 'x-requires': range.requires.capability })
  return { client: clientSchema(filled), ...core, ...(end && { listen_port_end: end }) }
}

const named = ($id: string) => ({ $id, examples: [example] })

export const createBody = (filled: SlotReader) =>
  withFields<CreateBody>(
    { ...definitionProperties(filled), if_offline: IfOffline },
    filled,
    optionalValue,
    named('RuleCreate')
  )

export const definitionBody = (filled: SlotReader) =>
  withFields<DefinitionBody>(definitionProperties(filled), filled, optionalValue, named('RuleDefinition'))

/** A rule in the document of `apply`. */
export const documentBody = (filled: SlotReader) =>
  withFields<DefinitionBody>(
    {
      ...Definition.properties,
      client: clientSchema(filled),
      rule_id: Type.Optional(RuleId)
    },
    filled,
    optionalValue
  )

const Edges = orNull(Type.Array(Edge), {
  description: 'Of a rule on several clients: its state on each, by their names.'
})

const Readonly = Type.Optional(Type.Unknown({ readOnly: true, description: 'Ignored: read-only.' }))

/** Targets as requests give them, or as a record shows them. */
function targetsSchema(filled: SlotReader) {
  const views = Object.fromEntries(viewsIn(filled).map(({ key }) => [key, Readonly]))
  const target = Definition.properties.targets.items.properties
  return Type.Array(closed({ ...target, port_end: Readonly, ...views }), {
    description: '1 to 8, without duplicates.'
  })
}

/** Takes the whole body of create, a record as it was read (read-only properties are ignored), or hot fields alone. */
export const updateBody = (filled: SlotReader) => {
  const shown = [...Object.keys(CoreRecord.properties), ...Object.keys(edgesProperty(filled))]
  const readOnly = Object.fromEntries(shown.map(key => [key, Readonly]))
  const targets = targetsSchema(filled)
  const { properties } = Type.Partial(Type.Object({ ...Definition.properties, targets }))
  return withFields<UpdateBody>({ ...readOnly, ...properties }, filled, optionalValue, named('RuleUpdate'))
}

/** Properties of a record that no request changes. */
export const readOnlyIn = (filled: SlotReader): readonly string[] => [
  ...Object.keys(CoreRecord.properties).filter(key => !(key in Definition.properties)),
  ...Object.keys(edgesProperty(filled))
]

/** What records have where a plugin places rules on several clients. */
const edgesProperty = (filled: SlotReader) => (placingIn(filled) ? { edges: Edges } : {})

/** A JSON Merge Patch. */
export const patchBody = (filled: SlotReader) => {
  const same = Type.Optional(
    Type.Unknown({ readOnly: true, description: 'Does not change: taken when equal to what is there.' })
  )
  const fixed = [...readOnlyIn(filled), 'client', 'protocol', 'owner'].map(key => [key, same])
  const { prefer_ipv6, paused, ...core } = Type.Partial(
    Type.Object({ ...definitionProperties(filled), targets: targetsSchema(filled) })
  ).properties
  const optional = { prefer_ipv6: Type.Optional(orNull(prefer_ipv6)), paused: Type.Optional(orNull(paused)) }
  const fieldOf = ({ body }: RuleField) => Type.Optional(orNull(patchSchemaOf(body)))
  return withFields<PatchBody>({ ...core, ...optional, ...Object.fromEntries(fixed) }, filled, fieldOf, {
    $id: 'RulePatch',
    examples: [{ targets: [{ host: '10.0.0.8', port: 443 }] }]
  })
}

/** Returns the schema of a patch: null takes away what is optional, and parts of objects are merged. */
function patchSchemaOf(schema: TSchema): TSchema {
  if (Type.IsRecord(schema)) {
    const { patternProperties, ...options } = schema
    const [value = Type.Unknown()] = Object.values(patternProperties)
    return Type.Record(Type.String(), orNull(patchSchemaOf(value)), options)
  }
  if (!Type.IsObject(schema)) return schema
  const { code, description = 'Its parts are merged.' } = schema as Partial<
    Record<'code' | 'description', string>
  >
  const parts = Object.entries(schema.properties).map(([key, part]) => [
    key,
    Type.Optional(orNull(patchSchemaOf(part), code === undefined ? {} : { code }))
  ])
  return closed(Object.fromEntries(parts), { description })
}

export const ruleRecord = (filled: SlotReader) => {
  const views = Object.fromEntries(viewsIn(filled).map(({ key, schema }) => [key, schema]))
  const target = CoreRecord.properties.targets.items.properties
  const targets = Type.Array(closed({ ...target, ...views }, { $id: 'Target' }), {
    description: 'Where connections go.'
  })
  const fieldOf = ({ body, absent }: RuleField) => (absent === undefined ? orNull(body) : body)
  const added = filled(shownStateSlot).map(({ value }) => value.state)
  const state = stateSchema([...coreStates, ...(placingIn(filled) ? [partialState] : []), ...added])
  return withFields<RuleRecord>(
    { ...CoreRecord.properties, ...edgesProperty(filled), state, targets },
    filled,
    fieldOf,
    {
      $id: 'Rule'
    }
  )
}

export const RuleParams = Type.Object({ rule_id: RuleId })

export const Wait = closed({
  ack_timeout_secs: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 60, description: 'How long to wait for the client; default 5.' })
  )
})

export const ChangeQuery = closed({
  ...Wait.properties,
  existing: Type.Optional(
    Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
      description:
        'What becomes of live connections whose target is no longer in the rule, or whose rule is paused; default keep.'
    })
  )
})
export type ChangeQuery = Static<typeof ChangeQuery>

export const Filter = Type.Object({
  client: Type.Optional(
    Type.String({ description: 'client_id, or a name that several may have.', examples: ['paris'] })
  ),
  owner: Type.Optional(Type.String({ ...UserId, description: 'user_id of the owner.' }))
})

/** What a list of rules is filtered by: properties of this plugin, and parameters of others. */
export type Filter = Static<typeof Filter> & Values

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
