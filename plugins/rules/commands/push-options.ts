// Options of `rule push` that follow from declarations of rule fields.

import type { DeclaredField } from '../../../agent/wire/rule-field.ts'
import { Type } from '../../../kernel/cli/args.ts'
import type { Fill } from '../../../kernel/slot.ts'
import { type PushOptions, pushOptionsSlot } from '../command-slots.ts'

/** Schemas are read as JSON Schema: the command line does not load TypeBox. */
interface Schema {
  readonly type?: string
  readonly const?: string
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly description?: string
}

type Given = Readonly<Record<string, unknown>>

/** Gives `rule push` the options of declared fields: an option for each, or for each part of an object. Lists are given with commas. */
export const pushOptions = (...fields: readonly DeclaredField[]): Fill => {
  const options = fields.map(optionsOf)
  return pushOptionsSlot.fill({
    args: Object.assign({}, ...options.map(({ args }) => args)),
    body: args => Object.assign({}, ...options.map(({ body }) => body(args)))
  } satisfies PushOptions)
}

function optionsOf({ key, option = key, body }: Pick<DeclaredField, 'key' | 'option' | 'body'>) {
  const { properties } = body as Schema
  if (!properties) {
    const { arg, convert } = argumentOf(body as Schema)
    return {
      args: { [option]: arg },
      body: (args: Given) => (args[option] === undefined ? {} : { [key]: convert(args[option]) })
    }
  }
  const parts = Object.entries(properties).map(([part, schema]) => ({
    part,
    name: `${option}_${part}`,
    ...argumentOf(schema)
  }))
  return {
    args: Object.fromEntries(parts.map(({ name, arg }) => [name, arg])),
    body(args: Given) {
      const given = parts.filter(({ name }) => args[name] !== undefined)
      if (given.length === 0) return {}
      return {
        [key]: Object.fromEntries(given.map(({ part, name, convert }) => [part, convert(args[name])]))
      }
    }
  }
}

/** Returns the argument for a value, and its conversion. The server checks bounds. */
function argumentOf(schema: Schema) {
  const { description = '' } = schema
  const { type, anyOf = [] } = presentIn(schema)
  const same = (value: unknown): unknown => value
  if (type === 'integer') return { arg: Type.Optional(Type.Integer({ description })), convert: same }
  if (type === 'boolean') return { arg: Type.Optional(Type.Boolean({ description })), convert: same }
  if (type === 'array')
    return {
      arg: Type.Optional(Type.String({ description })),
      convert: (list: unknown) => String(list).split(',')
    }
  const choices = anyOf.map(choice => Type.Literal(choice.const ?? ''))
  const arg = choices.length > 0 ? Type.Union(choices, { description }) : Type.String({ description })
  return { arg: Type.Optional(arg), convert: same }
}

const presentIn = (schema: Schema): Schema => {
  const some = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return some.length === 1 ? (some[0] ?? schema) : schema
}
