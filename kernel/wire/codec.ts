import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Errors } from 'typebox/value'
import { type Codec, type Message, Refused } from './message.ts'
import { schemaMismatches } from './proto-schema.ts'

/** Numbers, not Long objects; every repeated field and map is present; an absent `optional` stays absent. */
const plain = { longs: Number, enums: String, defaults: true } as const

/** Throws if a .proto and a schema differ. */
export function openCodec(messages: readonly Message[]): Codec {
  const root = parseProtos([...new Set(messages.map(({ proto }) => String(proto)))])
  const problems = messages.flatMap(({ name, body }) => schemaMismatches(root.lookupType(name), body))
  if (problems.length > 0) throw new TypeError(problems.join('\n'))

  const types = new Map(messages.map(({ name }) => [name, root.lookupType(name)]))
  const typeOf = (name: string): protobuf.Type => {
    const type = types.get(name)
    if (!type) throw new TypeError(`${name} is in \`messages\` of no plugin; add it there`)
    return type
  }

  return {
    has: name => types.has(name),
    encode({ name, body: schema }, body) {
      if (!isValid(schema, body)) throw new TypeError(`${name} ${firstError(schema, body)}`)
      const type = typeOf(name)
      return type.encode(type.fromObject(body as object)).finish() // its schema is an object: see proto-schema.ts
    },
    decode({ name, body: schema }, bytes) {
      const body = parse(typeOf(name), schema, bytes)
      if (!isValid(schema, body)) throw new Refused('wire.malformed', `${name} ${firstError(schema, body)}`)
      return body
    }
  }
}

const roots = new Map<string, protobuf.Root>() // by the text of the files

/** Servers and agents of one process share the types of the same files. */
function parseProtos(protos: readonly string[]): protobuf.Root {
  const texts = protos.map(proto =>
    proto.startsWith('file:') ? readFileSync(new URL(proto), 'utf8') : proto
  )
  const key = texts.join('\n')
  const root = roots.get(key) ?? new protobuf.Root()
  if (!roots.has(key)) for (const text of texts) protobuf.parse(text, root, { keepCase: true })
  root.resolveAll()
  roots.set(key, root)
  return root
}

const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>()

/** Compiles the validator at the first use of the message. */
function isValid<B extends TSchema>(schema: B, body: unknown): body is Static<B> {
  const validator = validators.get(schema) ?? Compile(schema)
  validators.set(schema, validator)
  return validator.Check(body)
}

function parse(type: protobuf.Type, schema: TSchema, bytes: Uint8Array): unknown {
  try {
    const message = type.decode(bytes)
    refuseLonger(schema, message)
    return type.toObject(message, plain)
  } catch (cause) {
    throw new Refused('wire.malformed', `${type.name}: ${String(cause)}`, { cause })
  }
}

/** Counts lists and maps first: converting or validating one that is too long takes seconds. */
function refuseLonger(schema: TSchema, message: object): void {
  for (const [key, list] of Object.entries(message)) {
    const property = Type.IsObject(schema) && schema.properties[key]
    if (!property || typeof list !== 'object' || ArrayBuffer.isView(list)) continue
    const { maxItems, maxProperties } = property as { maxItems?: number; maxProperties?: number }
    const max = maxItems ?? maxProperties ?? Number.POSITIVE_INFINITY
    if (Object.keys(list).length > max) throw new RangeError(`/${key} has more than ${max} entries`)
    if (Type.IsObject(property)) refuseLonger(property, list)
    if (Type.IsArray(property) && Array.isArray(list) && hasCollections(property.items))
      for (const row of list) refuseLonger(property.items, row as object)
  }
}

const hasCollections = (schema: TSchema): boolean =>
  Type.IsObject(schema) &&
  Object.values(schema.properties).some(of => Type.IsArray(of) || Type.IsRecord(of) || Type.IsObject(of))

function firstError(schema: TSchema, body: unknown): string {
  const error = Errors(schema, body)[0]
  return `${error?.instancePath ?? ''} ${error?.message ?? 'is not accepted'}`
}
