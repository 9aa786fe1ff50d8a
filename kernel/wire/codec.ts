import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import type { Static, TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { type Message, Refused } from './message.ts'
import { schemaMismatches } from './proto-schema.ts'

export interface Codec {
  has(name: string): boolean
  encode<B extends TSchema>(message: Message<B>, body: Static<B>): Uint8Array
  decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array): Static<B>
}

/** Numbers, not Long objects; every repeated field and map is there; an absent `optional` stays absent. */
const plain = { longs: Number, enums: String, defaults: true } as const

/** Reads each .proto once and proves it against the schemas; throws all that disagrees. */
export function openCodec(messages: readonly Message[]): Codec {
  const root = new protobuf.Root()
  for (const href of new Set(messages.map(message => message.proto.href)))
    protobuf.parse(readFileSync(new URL(href), 'utf8'), root, { keepCase: true })
  root.resolveAll()
  const problems = messages.flatMap(({ name, body }) => schemaMismatches(root.lookupType(name), body))
  if (problems.length > 0) throw new TypeError(problems.join('\n'))

  const typeOf = new Map(messages.map(({ name }) => [name, root.lookupType(name)]))
  const find = (name: string): protobuf.Type => {
    const type = typeOf.get(name)
    if (!type) throw new TypeError(`${name} stands in no list of messages`)
    return type
  }

  return {
    has: name => typeOf.has(name),
    encode({ name, body: schema }, body) {
      if (!Check(schema, body)) throw new TypeError(`${name} ${why(schema, body)}`)
      const type = find(name)
      return type.encode(type.fromObject(body as object)).finish() // its schema is an object: see agree.ts
    },
    decode({ name, body: schema }, bytes) {
      const body = read(find(name), bytes)
      if (!Check(schema, body)) throw new Refused('wire.malformed', `${name} ${why(schema, body)}`)
      return body
    }
  }
}

function read(type: protobuf.Type, bytes: Uint8Array): unknown {
  try {
    return type.toObject(type.decode(bytes), plain)
  } catch (cause) {
    throw new Refused('wire.malformed', `${type.name}: ${String(cause)}`, { cause })
  }
}

function why(schema: TSchema, body: unknown): string {
  const error = Errors(schema, body)[0]
  return `${error?.instancePath ?? ''} ${error?.message ?? 'is not accepted'}`
}
