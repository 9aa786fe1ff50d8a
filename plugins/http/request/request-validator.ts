// Validates requests with TypeBox, like configuration and messages. Fastify's Ajv drops unknown fields.
import type { FastifySchemaCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { type ErrorCode, Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { closestName } from '../../../kernel/base/suggestion.ts'
import { exactValue } from '../../../kernel/platform/exact-value.ts'
import { unknownField, unknownParameter } from '../codes.ts'
import { pathOf } from './request-context.ts'
import { appendKey, type Violation, violationsOf } from './violations.ts'

type Codes = Pick<ReadonlyMap<string, ErrorCode>, 'get'>

/** Compiles validators. A schema can set the `code` of its error; the default is `validation.schema`. */
export const openRequestValidator =
  (codes: Codes): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) => {
    const found = defaultsIn(schema)
    const defaults = Object.keys(found).length > 0 ? found : null
    return input => validate(input, { schema, defaults, isBody: httpPart === 'body', codes })
  }

interface Part {
  readonly schema: TSchema
  readonly defaults: object | null // null: none
  readonly isBody: boolean
  readonly codes: Codes
}

function validate(input: unknown, { schema, defaults, isBody, codes }: Part) {
  const given = isBody ? input : convertTexts(schema, input as Readonly<Record<string, unknown>>)
  const value: unknown = defaults && isObject(given) ? { ...defaults, ...given } : given
  const unknownCode = isBody ? unknownField : unknownParameter
  const error = refusalOf(schema, value, { codes, unknownCode }) ?? alteredValue(value)
  return error ? { error } : { value }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the defaults of required properties: callers may leave these out. */
export const defaultsIn = (schema: TSchema): Readonly<Record<string, unknown>> => {
  if (!Type.IsObject(schema)) return {}
  const names = Object.keys(schema.properties).filter(name => schema.required?.includes(name))
  const found = names.map(name => [name, (schema.properties[name] as { readonly default?: unknown }).default])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

/** Refuses a parameter that cannot be decoded. The parser of queries would take its text as it is. */
export function requireDecodable(url: string): void {
  const query = url.slice(pathOf(url).length + 1)
  if (!query.includes('%')) return
  const undecodable = query.split('&').find(part => decoded(part) === null)
  if (undecodable === undefined) return
  const [name = ''] = undecodable.split('=', 1)
  const message = 'must be percent-encoded UTF-8, and a percent sign is written %25'
  throw refusal(invalidSchema, { field: appendKey('', decoded(name) ?? name), reason: 'format', message })
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

interface Within {
  readonly codes: Codes
  readonly unknownCode: ErrorCode
}

function refusalOf(schema: TSchema, value: unknown, within: Within): Fault | null {
  const found = violationsOf(schema, value)
  const [first] = found
  if (!first) return null
  const errors = found.map(({ field, reason }) => ({ field, reason }))
  return refusal(codeOf(first, within), { ...first, message: first.message + hintFor(first) }, errors)
}

function codeOf({ code, unknown }: Violation, { codes, unknownCode }: Within): ErrorCode {
  if (unknown) return unknownCode
  const errorCode = code === undefined ? invalidSchema : codes.get(code)
  if (!errorCode) throw new TypeError(`a schema names code ${code}, which no loaded plugin defines`)
  return errorCode
}

function hintFor({ unknown }: Violation): string {
  const near = unknown ? closestName(unknown.name, unknown.known) : null
  return near === null ? '' : `; did you mean ${near}?`
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

/** Returns the error of the first value that would not be stored as it was sent, or null. */
function alteredValue(value: unknown): Fault | null {
  const found = findAltered(value)
  return found && refusal(invalidSchema, { ...found, field: found.keys.reduceRight(appendKey, '') })
}

interface Altered extends Pick<Violation, 'reason' | 'message'> {
  readonly keys: string[] // to the value, the innermost first
}

/** Allocates nothing for elements: a list can have hundreds of thousands. */
function findAltered(value: unknown): Altered | null {
  if (typeof value === 'number') return alteredInteger(value)
  if (typeof value === 'string') return alteredText(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = findAltered(value[at])
      if (found) return below(found, String(at))
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const found = alteredText(key) ?? findAltered((value as Readonly<Record<string, unknown>>)[key])
    if (found) return below(found, key)
  }
  return null
}

/** JSON.parse may have rounded it. */
function alteredInteger(value: number): Altered | null {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return null
  return value > 0
    ? { reason: 'maximum', message: 'must be at most 2^53-1', keys: [] }
    : { reason: 'minimum', message: 'must be at least -(2^53-1)', keys: [] }
}

/** UTF-8 cannot represent half of a surrogate pair, and PostgreSQL no NUL. */
function alteredText(text: string): Altered | null {
  if (text.includes('\0'))
    return { reason: 'format', message: 'must not have the character NUL (\\u0000)', keys: [] }
  if (text.isWellFormed()) return null
  return {
    reason: 'format',
    message: 'must not have half of a surrogate pair (\\ud800 to \\udfff)',
    keys: []
  }
}

function below(found: Altered, key: string): Altered {
  found.keys.push(key)
  return found
}

type Found = Pick<Violation, 'field' | 'reason' | 'message'>

const refusal = (
  errorCode: ErrorCode,
  { field, reason, message }: Found,
  errors: readonly Pick<Found, 'field' | 'reason'>[] = [{ field, reason }]
): Fault =>
  new Fault(errorCode, `${field === '' ? 'the body' : field} ${message}`, {
    details: { field, reason, errors }
  })
