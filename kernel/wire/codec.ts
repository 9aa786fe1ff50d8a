import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { type Codec, type Message, Refused } from './message.ts'
import { schemaMismatches } from './proto-schema.ts'

/** Numbers, not Long objects; every repeated field and map is present; an absent `optional` stays absent. */
const plain = { longs: Number, enums: String, defaults: true } as const

/** Reads each .proto once. Throws where a .proto and a schema differ. */
export function openCodec(messages: readonly Message[]): Codec {
  const root = new protobuf.Root()
  for (const href of new Set(messages.map(message => message.proto.href)))
    protobuf.parse(readFileSync(new URL(href), 'utf8'), root, { keepCase: true })
  root.resolveAll()
  const problems = messages.flatMap(({ name, body }) => schemaMismatches(root.lookupType(name), body))
  if (problems.length > 0) throw new TypeError(problems.join('\n'))

  const types = new Map(messages.map(({ name }) => [name, root.lookupType(name)]))
  const typeOf = (name: string): protobuf.Type => {
    const type = types.get(name)
    if (!type) throw new TypeError(`${name} is in no plugin's list of messages`)
    return type
  }

  return {
    has: name => types.has(name),
    encode({ name, body: schema }, body) {
      if (!Check(schema, body)) throw new TypeError(`${name} ${firstError(schema, body)}`)
      const type = typeOf(name)
      return type.encode(type.fromObject(body as object)).finish() // its schema is an object: see proto-schema.ts
    },
    decode({ name, body: schema }, bytes) {
      const body = parse(typeOf(name), bytes)
      if (!Check(schema, body)) throw new Refused('wire.malformed', `${name} ${firstError(schema, body)}`)
      return body
    }
  }
}

function parse(type: protobuf.Type, bytes: Uint8Array): unknown {
  try {
    return type.toObject(type.decode(bytes), plain)
  } catch (cause) {
    throw new Refused('wire.malformed', `${type.name}: ${String(cause)}`, { cause })
  }
}

function firstError(schema: TSchema, body: unknown): string {
  const error = Errors(schema, body)[0]
  return `${error?.instancePath ?? ''} ${error?.message ?? 'is not accepted'}`
}
