// A request may omit parts of a declared value that have a default or are nullable. A stored value has all parts.
import { type TSchema, Type } from 'typebox'
import { closed } from '../../../kernel/http/schema.ts'

const defaultIn = (schema: TSchema): unknown => (schema as { readonly default?: unknown }).default

/** Returns the schema of a value in requests: it is closed, and parts with a default are optional. */
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

/** Fills missing parts with their defaults. */
export function withDefaults(body: TSchema, value: unknown): unknown {
  if (!Type.IsObject(body)) return value
  const parts = Object.entries(body.properties).flatMap(([key, part]) =>
    defaultIn(part) === undefined ? [] : [[key, defaultIn(part)]]
  )
  return { ...Object.fromEntries(parts), ...(value as Parts) }
}

/** Fills missing nullable parts with null. */
export function withNulls(body: TSchema, value: unknown): unknown {
  if (!Type.IsObject(body)) return value
  const parts = Object.entries(body.properties).flatMap(([key, part]) =>
    Type.IsUnion(part) && part.anyOf.some(Type.IsNull) ? [[key, null]] : []
  )
  return { ...Object.fromEntries(parts), ...(value as Parts) }
}
