// A rule field has one declaration. Requests, storage, the message for the agent and command options follow from it.
import { type Static, type TSchema, Type } from 'typebox'
import type { Capability, Message } from '../../kernel/wire/message.ts'

/** The declaration of a rule field. It is plain data, so that server, agent and command line share it without other code. */
export interface DeclaredField<B extends TSchema = TSchema, S extends TSchema = TSchema> {
  readonly key: string // in requests, in replies and on the wire
  readonly capability: Capability // required of agents
  /**
   * The value in requests and replies. Requests may omit a part of an object that has a `default`. `sluice plugin check`
   * tries the first of its `examples`.
   */
  readonly body: B
  /**
   * Schema of the object that the agent receives. Default: the body without null parts; any body but an object becomes the
   * part `value`. Parts are numbered 1, 2, ... on the wire. Add parts at the end. After you remove a part, give the next one
   * its number as `fieldNumber`.
   */
  readonly sent?: S
  /** The option of `rule push`; for an object, the prefix of one option per part. Default: the key. */
  readonly option?: string
}

export type Scalar = string | number | boolean | readonly unknown[]

/** The value of a field as the agent receives it. */
export type Sent<V> = V extends Scalar ? { value: V } : { [K in keyof V]: Exclude<V[K], null> }

/** The message of a declared field. */
export type SentMessage<B extends TSchema, S extends TSchema = TSchema> = Message<
  Type.TUnsafe<TSchema extends S ? Sent<Static<B>> : Static<S>>
>

/** Returns the message that carries the value of a field to agents. */
export function fieldMessage<B extends TSchema, S extends TSchema>({
  key,
  body,
  sent
}: Pick<DeclaredField<B, S>, 'key' | 'body' | 'sent'>): SentMessage<B, S> {
  const schema = sent ?? (Type.IsObject(body) ? withoutNull(body) : Type.Object({ value: body }))
  return {
    ...declaredMessage('sluice.field', messageName(key), schema),
    body: schema as never // its static type is that of the declaration
  }
}

/** Returns the name and the .proto text of a message with this schema. */
export const declaredMessage = (space: string, name: string, schema: TSchema) => ({
  name: `${space}.${name}`,
  proto: `syntax = "proto3";\npackage ${space};\n${messageDefinition(name, schema)}`
})

/** Returns the value as `fieldMessage` carries it if the declaration has no `sent`. */
export const sentValue = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? { value }
    : Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null))

/** Returns the schema of an object without null parts. */
const withoutNullParts = ({ properties }: Type.TObject): TSchema =>
  Type.Object(
    Object.fromEntries(
      Object.entries(properties).map(([key, part]) => {
        const some = withoutNullOption(part)
        return [key, some === part || !Type.IsSchema(some) ? part : Type.Optional(some)]
      })
    )
  )

/** Returns the schema without null, at the top and in the parts of an object. */
export const withoutNull = (schema: TSchema): TSchema =>
  Type.IsObject(schema) ? withoutNullParts(schema) : withoutNullOption(schema)

/** Returns the schema without its null option. */
function withoutNullOption(schema: TSchema): TSchema {
  if (!Type.IsUnion(schema)) return schema
  const some = schema.anyOf.filter(option => !Type.IsNull(option))
  const [only] = some
  return some.length === 1 && only ? only : schema
}

/** 'relay_notice' becomes 'RelayNotice'. */
export const messageName = (key: string): string =>
  key.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Returns the message definition as .proto text. */
function messageDefinition(name: string, schema: TSchema): string {
  if (!Type.IsObject(schema)) throw new TypeError(`the schema of the message ${name} is not an object`)
  let number = 0
  const lines = Object.entries(schema.properties).flatMap(([key, part]) => {
    number = (part as { readonly fieldNumber?: number }).fieldNumber ?? number + 1
    const value = Type.IsArray(part) ? part.items : part
    const isMessage = Type.IsObject(value)
    const type = isMessage ? messageName(key) : scalarType(value)
    const label = Type.IsOptional(part) ? 'optional ' : Type.IsArray(part) ? 'repeated ' : ''
    return [...(isMessage ? [messageDefinition(type, value)] : []), `${label}${type} ${key} = ${number};`]
  })
  return [`message ${name} {`, ...lines.flatMap(line => line.split('\n')).map(line => `  ${line}`), '}'].join(
    '\n'
  )
}

function scalarType(schema: TSchema): string {
  if (Type.IsNumber(schema)) return 'double'
  if (Type.IsBoolean(schema)) return 'bool'
  if (!Type.IsInteger(schema)) return 'string' // and literals
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema as {
    readonly minimum?: number
    readonly maximum?: number
  }
  if (minimum < 0) return 'sint64'
  return maximum < 2 ** 32 ? 'uint32' : 'uint64'
}
