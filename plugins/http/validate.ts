// TypeBox validates requests, as it does configuration and messages: Fastify's Ajv would drop unknown fields.
import type { FastifySchemaCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { closestName } from '../../kernel/base/config.ts'
import { type ErrorCode, Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { unknownField, unknownParameter } from './errors.ts'

type Codes = ReadonlyMap<string, ErrorCode>

/** A schema may name the `code` of its refusal; else it is `validation.schema`. */
export const validator =
  (codes: Codes): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) =>
  given => {
    const isBody = httpPart === 'body'
    const value: unknown = isBody ? given : fromText(schema, given)
    if (!Check(schema, value))
      return {
        error:
          strangerIn(schema, value, isBody ? unknownField : unknownParameter) ??
          misfitIn(schema, value, codes)
      }
    const unsafe = unsafeInteger(value, '')
    if (unsafe !== null) return { error: refusal(invalidSchema, unsafe, 'must be at most 2^53-1', 'maximum') }
    return { value }
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
  if (Type.IsBoolean(schema) && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

/** JSON.parse rounds such a number in silence. */
function unsafeInteger(value: unknown, at: string): string | null {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? at : null
  if (typeof value !== 'object' || value === null) return null
  for (const [key, part] of Object.entries(value)) {
    const found = unsafeInteger(part, under(at, key))
    if (found !== null) return found
  }
  return null
}

/** A field that nobody knows is told before all others. */
function strangerIn(schema: TSchema, value: unknown, row: ErrorCode): Fault | null {
  for (const { keyword, instancePath, schemaPath, params } of Errors(schema, value)) {
    if (keyword !== 'additionalProperties') continue
    const name = (params.additionalProperties[0] ?? '').slice(0, 64)
    const owner = along(schema, schemaPath).at(-1)
    const near = closestName(name, Type.IsObject(owner) ? Object.keys(owner.properties) : [])
    const hint = near === null ? '' : `; did you mean ${near}?`
    return refusal(row, under(instancePath, name), `is unknown here${hint}`, keyword)
  }
  return null
}

function misfitIn(schema: TSchema, value: unknown, codes: Codes): Fault {
  const found = Errors(schema, value)
  // A value that may be null fails the other alternative in earnest.
  const error = found.find(({ params }) => !('type' in params && params.type === 'null')) ?? found[0]
  if (!error) throw new TypeError('a value that fails its schema has no error')
  const missing = error.keyword === 'required' ? error.params.requiredProperties[0] : undefined
  const parts = along(schema, `${error.schemaPath}${missing === undefined ? '' : `/properties/${missing}`}`)
  const named = parts
    .map(part => ('code' in part ? part.code : undefined))
    .findLast(code => typeof code === 'string')
  const row = named === undefined ? invalidSchema : codes.get(named)
  if (!row) throw new TypeError(`a schema names code ${named}, which no loaded plugin defines`)
  if (missing !== undefined)
    return refusal(row, under(error.instancePath, missing), 'is required', error.keyword)
  const choice = parts
    .findLast(part => Type.IsUnion(part))
    ?.anyOf.map(one => (Type.IsLiteral(one) ? one.const : null))
  const wording = error.keyword === 'const' && choice ? `must be one of ${choice.join(', ')}` : error.message
  return refusal(row, error.instancePath, wording, error.keyword === '~refine' ? 'format' : error.keyword)
}

/** The schemas from the root to the one at a path such as '#/properties/targets/items'. */
function along(schema: TSchema, path: string): readonly TSchema[] {
  const parts = [schema]
  for (const step of path.split('/').slice(1)) {
    const next = (parts.at(-1) as Readonly<Record<string, TSchema>>)[step] // arrays of alternatives among them
    if (next !== undefined) parts.push(next)
  }
  return parts
}

const refusal = (row: ErrorCode, field: string, message: string, reason: string): Fault =>
  new Fault(row, `${field === '' ? 'the body' : field} ${message}`, { details: { field, reason } })

/** JSON pointer, RFC 6901. */
const under = (at: string, key: string): string => `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
