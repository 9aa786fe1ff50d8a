// Requests may leave out parts of a declared value that have a default or may be null. Stored values have all parts.
import { type TSchema, Type } from 'typebox'
import { closed } from '../../../kernel/http/schema.ts'

const defaultIn = (schema: TSchema): unknown => (schema as { readonly default?: unknown }).default

/** Returns the schema of a value in requests: closed, and parts that have a default are optional. */
export function requestSchema(body: TSchema): TSchema {
  if (!Type.IsObject(body)) return body
  const { type: _, properties, required: __, ...options } = body
  const parts = Object.entries(properties).map(([key, part]) => [
    key,
    defaultIn(part) === undefined ? part : Type.Optional(part)
  ])
  return closed(Object.fromEntries(parts), options)
}

type Parts = Readonly<Record<string, unknown>>

/** Returns the value with the defaults of parts that it leaves out. */
export function withDefaults(body: TSchema, value: unknown): unknown {
  if (!Type.IsObject(body)) return value
  const parts = Object.entries(body.properties).flatMap(([key, part]) =>
    defaultIn(part) === undefined ? [] : [[key, defaultIn(part)]]
  )
  return { ...Object.fromEntries(parts), ...(value as Parts) }
}

/** Returns the value with null for parts that it leaves out and that may be null. */
export function withNulls(body: TSchema, value: unknown): unknown {
  if (!Type.IsObject(body)) return value
  const parts = Object.entries(body.properties).flatMap(([key, part]) =>
    Type.IsUnion(part) && part.anyOf.some(Type.IsNull) ? [[key, null]] : []
  )
  return { ...Object.fromEntries(parts), ...(value as Parts) }
}
