// TypeBox validates requests, as it does configuration and messages: Fastify's Ajv would drop unknown fields.
import type { FastifySchemaCompiler } from 'fastify'
import { type TObject, type TSchema, Type } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Check, Errors } from 'typebox/value'
import { nearest } from '../base/config.ts'
import { type Code, Fault, invalidSchema, unknownField, unknownParameter } from '../base/errors.ts'

/** A schema may name the `code` of its refusal; else it is `validation.schema`. */
export const validator =
  (codes: ReadonlyMap<string, Code>): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) =>
  given => {
    const isBody = httpPart === 'body'
    const value: unknown = isBody ? given : fromText(schema, given)
    const unsafe = unsafeInteger(value, '')
    if (unsafe !== null) return { error: refusal(invalidSchema, unsafe, 'must be at most 2^53-1', 'maximum') }
    return Check(schema, value) ? { value } : { error: complain({ schema, value, codes, isBody }) }
  }

/** Paths and queries are text: numbers and booleans by their exact look, nothing guessed. */
function fromText(schema: TSchema, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = Type.IsObject(schema) ? schema.properties : {}
  return Object.fromEntries(Object.entries(given).map(([key, text]) => [key, typed(properties[key], text)]))
}

function typed(schema: TSchema | undefined, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (Type.IsInteger(schema) || Type.IsNumber(schema))
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
  if (Type.IsBoolean(schema)) return text === 'true' || (text === 'false' ? false : text)
  return text
}

/** JSON.parse rounds such a number in silence. */
function unsafeInteger(value: unknown, at: string): string | null {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? at : null
  if (typeof value !== 'object' || value === null) return null
  for (const [key, part] of Object.entries(value)) {
    const found = unsafeInteger(part, `${at}/${escapePointer(key)}`)
    if (found !== null) return found
  }
  return null
}

interface Failed {
  readonly schema: TSchema
  readonly value: unknown
  readonly codes: ReadonlyMap<string, Code>
  readonly isBody: boolean
}

function complain({ schema, value, codes, isBody }: Failed): Fault {
  const errors = Errors(schema, value)
  const extra = errors.find(({ keyword }) => keyword === 'additionalProperties')
  if (extra?.keyword === 'additionalProperties') {
    const [name = ''] = extra.params.additionalProperties
    const near = nearest(
      name,
      Object.keys((along(schema, extra.schemaPath).at(-1) as TObject).properties ?? {})
    )
    return refusal(
      isBody ? unknownField : unknownParameter,
      `${extra.instancePath}/${escapePointer(name)}`,
      `is unknown here${near === null ? '' : `; did you mean ${near}?`}`,
      extra.keyword
    )
  }
  const first = tellingOf(errors)
  const missing = first.keyword === 'required' ? first.params.requiredProperties[0] : undefined
  const path = missing === undefined ? first.schemaPath : `${first.schemaPath}/properties/${missing}`
  const named = along(schema, path).findLast(part => typeof part.code === 'string')?.code
  const row = named === undefined ? invalidSchema : codes.get(named as string)
  if (!row) throw new TypeError(`a schema names code ${named}, which no loaded plugin defines`)
  if (missing !== undefined)
    return refusal(row, `${first.instancePath}/${escapePointer(missing)}`, 'is required', 'required')
  return refusal(row, first.instancePath, wording(first, along(schema, path)), first.keyword)
}

/** Of the errors of a union, those of `null` say nothing, and one that names all literals says most. */
function tellingOf(errors: readonly TLocalizedValidationError[]): TLocalizedValidationError {
  const [first, ...others] = errors.filter(
    ({ keyword, params }) => keyword !== 'boolean' && !('type' in params && params.type === 'null')
  )
  if (!first) throw new TypeError('a value that fails its schema has no error')
  if (first.keyword !== 'const') return first
  return (
    others.find(({ keyword, instancePath }) => keyword === 'anyOf' && instancePath === first.instancePath) ??
    first
  )
}

function wording({ keyword, message }: TLocalizedValidationError, parts: readonly Annotated[]): string {
  const schema = parts.at(-1)
  if (keyword === 'anyOf' && Type.IsUnion(schema)) {
    const literals = schema.anyOf.map(one => (Type.IsLiteral(one) ? String(one.const) : null))
    if (!literals.includes(null)) return `must be one of ${literals.join(', ')}`
  }
  if (keyword === 'const' && Type.IsLiteral(schema)) return `must be ${schema.const}`
  return message
}

type Annotated = TSchema & { readonly code?: unknown }

/** The schemas from the root to the one at the path, such as '#/properties/targets/items'. */
function along(schema: TSchema, path: string): readonly Annotated[] {
  const parts: Annotated[] = [schema]
  for (const step of path.split('/').slice(1)) {
    const next = (parts.at(-1) as Readonly<Record<string, TSchema>>)[step]
    if (next === undefined) break
    parts.push(next)
  }
  return parts
}

const refusal = (row: Code, field: string, message: string, reason: string): Fault =>
  new Fault(row, `${field === '' ? 'the body' : field} ${message}`, { details: { field, reason } })

/** RFC 6901. */
const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
