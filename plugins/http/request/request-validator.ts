// Validates requests with TypeBox, like configuration and messages. Fastify's Ajv drops unknown fields.
import type { FastifySchemaCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Errors } from 'typebox/value'
import { closestName } from '../../../kernel/base/config.ts'
import { type ErrorCode, Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { exactValue } from '../../../kernel/platform/exact-value.ts'
import { unknownField, unknownParameter } from '../codes.ts'

type Codes = Pick<ReadonlyMap<string, ErrorCode>, 'get'>

/** Compiles validators. A schema can set the `code` of its error; the default is `validation.schema`. */
export const openRequestValidator =
  (codes: Codes): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) =>
  input => {
    const isBody = httpPart === 'body'
    const value: unknown = isBody ? input : convertTexts(schema, input)
    const error = refusalOf(schema, value, { codes, unknownCode: isBody ? unknownField : unknownParameter })
    return error ? { error } : { value }
  }

function refusalOf(
  schema: TSchema,
  value: unknown,
  { codes, unknownCode }: { readonly codes: Codes; readonly unknownCode: ErrorCode }
): Fault | null {
  if (isValid(schema, value)) return unsafeInteger(value, '')
  return unknownIn(schema, value, unknownCode) ?? errorIn(schema, value, codes)
}

const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>()

/** Compiles the validator of a schema at its first use, which keeps starts fast. */
function isValid(schema: TSchema, value: unknown): boolean {
  const validator = validators.get(schema) ?? Compile(schema)
  validators.set(schema, validator)
  return validator.Check(value)
}

/** Converts numbers and booleans in a path or query from text, if the conversion is exact. */
function convertTexts(schema: TSchema, texts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = Type.IsObject(schema) ? schema.properties : {}
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, convert(properties[key], text)]))
}

function convert(schema: TSchema | undefined, text: unknown): unknown {
  if (typeof text !== 'string') return text
  // A rounded integer is refused later, with the bound that it exceeds.
  return Type.IsInteger(schema) && /^-?[1-9]\d{15,}$/.test(text) ? Number(text) : exactValue(schema, text)
}

/** Returns the error of an integer that JSON.parse may have rounded, or null. */
function unsafeInteger(value: unknown, at: string): Fault | null {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return null
    return value > 0
      ? refusal(invalidSchema, at, 'must be at most 2^53-1', 'maximum')
      : refusal(invalidSchema, at, 'must be at least -(2^53-1)', 'minimum')
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null
  for (const [key, part] of Object.entries(value)) {
    const found = unsafeInteger(part, join(at, key))
    if (found !== null) return found
  }
  return null
}

/** Returns the error of an unknown field or parameter, or null. It takes precedence over other errors. */
function unknownIn(schema: TSchema, value: unknown, errorCode: ErrorCode): Fault | null {
  for (const { keyword, instancePath, schemaPath, params } of Errors(schema, value)) {
    if (keyword !== 'additionalProperties') continue
    const name = (params.additionalProperties[0] ?? '').slice(0, 64)
    const parent = schemasOn(schema, schemaPath).at(-1)
    const near = closestName(name, Type.IsObject(parent) ? Object.keys(parent.properties) : [])
    const hint = near === null ? '' : `; did you mean ${near}?`
    return refusal(errorCode, join(instancePath, name), `is unknown here${hint}`, keyword)
  }
  return null
}

function errorIn(schema: TSchema, value: unknown, codes: Codes): Fault {
  const found = Errors(schema, value)
  // For a nullable field, reports the error of the non-null alternative.
  const error = found.find(({ params }) => !('type' in params && params.type === 'null')) ?? found[0]
  if (!error) throw new TypeError('a value that fails its schema has no error')
  const missing = error.keyword === 'required' ? error.params.requiredProperties[0] : undefined
  const path = missing === undefined ? error.schemaPath : `${error.schemaPath}/properties/${missing}`
  const parts = schemasOn(schema, path)
  const code = parts
    .map(part => ('code' in part ? part.code : undefined))
    .findLast(found => typeof found === 'string')
  const errorCode = code === undefined ? invalidSchema : codes.get(code)
  if (!errorCode) throw new TypeError(`a schema names code ${code}, which no loaded plugin defines`)
  if (missing !== undefined)
    return refusal(errorCode, join(error.instancePath, missing), 'is required', error.keyword)
  const choice = parts
    .findLast(part => Type.IsUnion(part))
    ?.anyOf.map(one => (Type.IsLiteral(one) ? one.const : null))
  const message = error.keyword === 'const' && choice ? `must be one of ${choice.join(', ')}` : error.message
  return refusal(
    errorCode,
    error.instancePath,
    message,
    error.keyword === '~refine' ? 'format' : error.keyword
  )
}

/** Returns the schemas from the root to a path such as '#/properties/targets/items'. */
function schemasOn(schema: TSchema, path: string): readonly TSchema[] {
  const parts = [schema]
  for (const step of path.split('/').slice(1)) {
    const next = (parts.at(-1) as Readonly<Record<string, TSchema>>)[step] // an array for the alternatives of a union
    if (next !== undefined) parts.push(next)
  }
  return parts
}

const refusal = (errorCode: ErrorCode, field: string, message: string, reason: string): Fault =>
  new Fault(errorCode, `${field === '' ? 'the body' : field} ${message}`, { details: { field, reason } })

/** Joins a JSON pointer (RFC 6901) and a key. */
const join = (at: string, key: string): string => `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
