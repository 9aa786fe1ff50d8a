// Schemas of the routes: the core of a rule, and the fields that plugins add to it at boot.
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { closed, orNull } from '../../../kernel/http/schema.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { UserFilter } from '../../http/exports.ts'
import { targetHost } from '../changes/parse-draft.ts'
import {
  isSent,
  type LoadedField,
  type RuleField,
  ruleFieldSlot,
  type ServerField
} from '../fields/rule-field.ts'
import { targetFieldsIn } from '../fields/target-values.ts'
import { Edge, partialState } from '../group-rules/edges.ts'
import { ruleNameSchema } from '../names/rule-name-schema.ts'
import { shapeSlot, shownStateSlot, type TargetView, targetViewSlot } from '../slots.ts'
import { type DeliveryOptions, deliveryOptions } from './delivery-options.ts'
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

const ClientRef = Type.String({ description: 'client_id, or the name of one client.', examples: ['paris'] })

const lastPort = (options: TSchemaOptions = {}) =>
  Type.Optional(
    orNull(Type.Integer({ minimum: 1, maximum: 65_535, code: 'validation.range_invalid' }), {
      description: 'Last port of a range that begins at listen_port.',
      ...options
    })
  )

const targetsOptions = { description: '1 to 8, without duplicates.' }

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
    targetsOptions
  ),
  prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
  owner: Type.Optional(Type.String({ description: 'user_id. Default: the user of the request.' })),
  placed_by: Type.Optional(
    Type.String({
      description:
        'user_id, for operators and superadmins: the owner, if grants limit the rule. Default: the user of the request.'
    })
  ),
  paused: Type.Optional(
    Type.Boolean({ description: 'Keep the port, and forward nothing; default false.', examples: [false] })
  )
})

/** Core properties, and the values of fields under their keys. */
export type DefinitionBody = Static<typeof Definition> & Values
export type CreateBody = DefinitionBody & Pick<DeliveryOptions, 'if_offline'>
export type UpdateBody = Partial<Static<typeof Definition>> & Values
/** Null removes a value. */
export type PatchBody = Pick<UpdateBody, 'targets' | 'placed_by'> & Values

export const fieldsIn = (filled: SlotReader): LoadedField[] => filled(ruleFieldSlot).map(({ value }) => value)

export type PlacingField = LoadedField & ServerField

/** Returns the field that places rules on several clients, if there is one. */
export const placingIn = (filled: SlotReader): PlacingField | undefined =>
  fieldsIn(filled).find((field): field is PlacingField => !isSent(field) && field.clientsOf !== undefined)

export const viewsIn = (filled: SlotReader): TargetView[] => filled(targetViewSlot).map(({ value }) => value)

/** `x-requires` names the capability that an agent needs, so that forms offer only what it supports. */
const optionalValue = (field: RuleField) =>
  Type.Optional(orNull(field.body, isSent(field) ? { 'x-requires': field.requires.capability } : {}))

const example = { client: 'paris', listen_port: 8443, targets: [{ host: '10.0.0.7', port: 443 }] }

/** `client` is required unless a field can place rules on several clients. */
const clientSchema = (filled: SlotReader): TSchema =>
  placingIn(filled) ? Type.Optional(ClientRef) : ClientRef

/** Returns the properties of a target that a request may have. */
const givenTarget = (filled: SlotReader) => ({
  ...Definition.properties.targets.items.properties,
  ...Object.fromEntries(
    targetFieldsIn(filled).map(({ key, body, requires }) => [
      key,
      Type.Optional(orNull(body, { 'x-requires': requires.capability }))
    ])
  )
})

const targetsBody = (filled: SlotReader) => Type.Array(closed(givenTarget(filled)), targetsOptions)

const definitionProperties = (filled: SlotReader) => {
  const { listen_port_end: _, client: __, ...core } = Definition.properties
  const range = filled(shapeSlot).find(({ value }) => value.bodyField === 'listen_port_end')?.value
  const end = range && lastPort({ 'x-requires': range.requires.capability })
  const targets = targetsBody(filled)
  return { client: clientSchema(filled), ...core, targets, ...(end && { listen_port_end: end }) }
}

const named = ($id: string) => ({ $id, examples: [example] })

export const createBody = (filled: SlotReader) =>
  withFields<CreateBody>(
    { ...definitionProperties(filled), if_offline: deliveryOptions.if_offline },
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
      targets: targetsBody(filled),
      client: clientSchema(filled),
      rule_id: Type.Optional(RuleId),
      ...deliveryOptions
    },
    filled,
    optionalValue
  )

const Edges = orNull(Type.Array(Edge), {
  description: 'State of a group rule on each client, by client name; null for other rules.'
})

const Readonly = Type.Optional(Type.Unknown({ readOnly: true, description: 'Ignored: read-only.' }))

/** Accepts targets as in a request, or as in a record. */
function targetsSchema(filled: SlotReader) {
  const views = Object.fromEntries(viewsIn(filled).map(({ key }) => [key, Readonly]))
  return Type.Array(closed({ ...givenTarget(filled), port_end: Readonly, ...views }), targetsOptions)
}

/** Accepts the whole body of create, a record (read-only properties are ignored), or some properties of it. */
export const updateBody = (filled: SlotReader) => {
  const shown = [...Object.keys(CoreRecord.properties), ...Object.keys(edgesProperty(filled))]
  const readOnly = Object.fromEntries(shown.map(key => [key, Readonly]))
  const targets = targetsSchema(filled)
  const { properties } = Type.Partial(Type.Object({ ...Definition.properties, targets }))
  return withFields<UpdateBody>({ ...readOnly, ...properties }, filled, optionalValue, named('RuleUpdate'))
}

/** Returns the properties of a record that no request changes. */
export const readOnlyIn = (filled: SlotReader): readonly string[] => [
  ...Object.keys(CoreRecord.properties).filter(key => !(key in Definition.properties)),
  ...Object.keys(edgesProperty(filled))
]

const edgesProperty = (filled: SlotReader) => (placingIn(filled) ? { edges: Edges } : {})

export const patchBody = (filled: SlotReader) => {
  const same = Type.Optional(
    Type.Unknown({ readOnly: true, description: 'Cannot change: accepted if equal to the stored value.' })
  )
  const fixed = [...readOnlyIn(filled), ...unchangeable].map(key => [key, same])
  return patchSchema(filled, Object.fromEntries(fixed), {
    $id: 'RulePatch',
    examples: [{ targets: [{ host: '10.0.0.8', port: 443 }] }]
  })
}

/** A patch of several rules: no record can be sent back. */
export const bulkPatch = (filled: SlotReader) => {
  const refused = Type.Optional(Type.Unknown({ readOnly: true, description: 'Refused: it cannot change.' }))
  return patchSchema(filled, Object.fromEntries(unchangeable.map(key => [key, refused])), {
    $id: 'RulesPatch',
    examples: [{ prefer_ipv6: true }]
  })
}

const unchangeable = ['client', 'protocol', 'owner']

function patchSchema(filled: SlotReader, fixed: Record<string, TSchema>, options: TSchemaOptions) {
  const { prefer_ipv6, paused, ...core } = Type.Partial(
    Type.Object({ ...definitionProperties(filled), targets: targetsSchema(filled) })
  ).properties
  const optional = { prefer_ipv6: Type.Optional(orNull(prefer_ipv6)), paused: Type.Optional(orNull(paused)) }
  const fieldOf = ({ body }: RuleField) => Type.Optional(orNull(patchSchemaOf(body)))
  return withFields<PatchBody>({ ...core, ...optional, ...fixed }, filled, fieldOf, options)
}

/** Returns the schema of a JSON Merge Patch: null removes optional values, and objects merge. */
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
  const properties = Object.fromEntries(
    targetFieldsIn(filled).map(({ key, body }) => [key, Type.Optional(body)])
  )
  const targets = Type.Array(closed({ ...target, ...properties, ...views }, { $id: 'Target' }), {
    description: 'Where connections go.'
  })
  const fieldOf = ({ body, absent }: RuleField) => (absent === undefined ? orNull(body) : body)
  const added = filled(shownStateSlot).map(({ value }) => value.state)
  const core = [...coreStates, ...(placingIn(filled) ? [partialState] : [])]
  const state = stateSchema([...new Set([...core, ...added])]) // a plugin may pause rules
  return withFields<RuleRecord>(
    { ...CoreRecord.properties, ...edgesProperty(filled), state, targets },
    filled,
    fieldOf,
    { $id: 'Rule' }
  )
}

export const RuleParams = Type.Object({ rule_id: RuleId })

export const Wait = closed({ ack_timeout_secs: deliveryOptions.ack_timeout_secs })

export const ChangeQuery = closed({ ...Wait.properties, existing: deliveryOptions.existing })
export type ChangeQuery = Static<typeof ChangeQuery>

export const Filter = Type.Object({
  client: Type.Optional(
    Type.String({ description: 'client_id, or a name that several may have.', examples: ['paris'] })
  ),
  owner: Type.Optional(UserFilter('user_id of the owner.')),
  name: Type.Optional(ruleNameSchema('Only rules with this name.')),
  via: Type.Optional(
    Type.String({
      description: 'client_id, or a name that several may have: only rules with such a client on a path.',
      examples: ['lyon']
    })
  ),
  port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Only rules that listen on this port, alone or in a range.',
      examples: [8443]
    })
  )
})

/** Filters of a list of rules, with the parameters that other plugins add. */
export type Filter = Static<typeof Filter> & Values

/** Returns a closed object of core properties and fields. Fields are known at boot, so the static type has only the core. */
function withFields<T>(
  core: Record<string, TSchema>,
  filled: SlotReader,
  schemaOf: (field: RuleField) => TSchema,
  options: TSchemaOptions = {}
): Type.TUnsafe<T> {
  const fields = fieldsIn(filled).map(field => [field.key, schemaOf(field)])
  return Type.Unsafe<T>(closed({ ...core, ...Object.fromEntries(fields) }, options))
}
