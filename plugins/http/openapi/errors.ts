// Errors of each operation: from the host, from its schemas, and its own.
import { STATUS_CODES } from 'node:http'
import {
  type ErrorCode,
  internal,
  invalidSchema,
  limitReached,
  notFound,
  rateLimited,
  roleRequired,
  storeOutcomeUnknown,
  storeUnavailable,
  unauthenticated,
  userDisabled
} from '../../../kernel/base/errors.ts'
import type { Route, Schemas } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import * as codes from '../codes.ts'
import { listParameters } from '../list/list-query.ts'
import { mayCall, roles } from '../roles.ts'
import { scopesOf } from '../scopes.ts'
import { asJsonSchema, type JsonSchema, pascalCase, refTo } from './schemas.ts'

/** A route as its plugin declares it. */
export interface Declared {
  readonly plugin: string
  readonly codes: readonly ErrorCode[] // of the plugin
  readonly route: Route<Kernel>
  readonly schemas: Schemas
}

/** Returns the codes of all possible error responses. */
export function errorCodesOf({ route, schemas, codes: ofPlugin }: Declared): ReadonlySet<string> {
  const { errors = ofPlugin, body, query, params } = schemas
  const found = [...hostErrors(route, schemas), ...errors].map(({ code }) => code)
  const parts = [body, query, params].flatMap(part => (part ? codesIn(asJsonSchema(part)) : []))
  return new Set([...found, ...parts])
}

/** True for routes that accept an Idempotency-Key. */
export const isKeyed = ({ method, url }: Route<Kernel>): boolean =>
  method !== 'GET' && !url.startsWith('/v1/auth/')

/** True for routes that accept If-Match: changes of a record, including a POST below its path. */
export const isConditional = ({ method, url }: Route<Kernel>): boolean =>
  /^(PUT|PATCH|DELETE)$/.test(method) || (method === 'POST' && url.includes('/:'))

function hostErrors(route: Route<Kernel>, { query, params, reply }: Schemas): readonly ErrorCode[] {
  const { method, access, isList } = route
  const isWrite = method !== 'GET'
  return [
    ...[
      codes.unknownParameter,
      codes.requestTimeout,
      codes.unknownHost,
      rateLimited,
      codes.headersTooLarge,
      internal,
      storeUnavailable
    ],
    ...(route.url.includes('/:') ? [notFound] : []), // for a malformed id in the path
    ...(isWrite || isList || query || params ? [invalidSchema] : []),
    ...(isWrite
      ? [
          storeOutcomeUnknown,
          codes.invalidJson,
          codes.tooDeep,
          codes.unknownField,
          codes.resourceChanged,
          codes.bodyTooLarge,
          codes.unsupportedMediaType
        ]
      : []),
    ...(isList ? [codes.invalidLimit, codes.invalidCursor] : []),
    ...(isList && 'sort' in listParameters(reply, {}) ? [limitReached] : []),
    ...(route.takesForm ? [codes.invalidForm] : []),
    ...(isKeyed(route) ? keyErrors : []),
    ...(access === 'public' ? [] : callerErrors),
    ...(roles.every(role => mayCall({ role, method: 'api_token' }, route)) ? [] : [roleRequired]),
    ...(access === 'session' ? [codes.sessionRequired] : []),
    ...(scopesOf(route).length > 0 ? [codes.scopeRequired] : []),
    ...(route.needsFresh ? [codes.reauthenticationRequired] : []),
    ...(isWrite && access !== 'public' ? csrfErrors : [])
  ]
}

const callerErrors = [
  unauthenticated,
  userDisabled,
  codes.passwordChangeRequired,
  codes.enrollmentRequired,
  codes.bootstrapRequired
]
const csrfErrors = [
  codes.csrfOriginRequired,
  codes.csrfOriginMismatch,
  codes.csrfHeaderRequired,
  codes.csrfContentTypeRequired
]
const keyErrors = [
  codes.invalidKey,
  codes.idempotencyInProgress,
  codes.idempotencySecretSpent,
  codes.idempotencyKeyReused
]

/** Returns the error codes that a schema and its parts set. */
function codesIn({ code, properties = {}, items, anyOf = [], allOf = [] }: JsonSchema): string[] {
  const parts = [...Object.values(properties), ...(items ? [items] : []), ...anyOf, ...allOf]
  return [...(typeof code === 'string' ? [code] : []), ...parts.flatMap(codesIn)]
}

/** Collects the schemas and responses of errors, each once. */
export function openErrors(rowOf: (code: string) => ErrorCode | undefined) {
  const schemas: Record<string, JsonSchema> = {}
  const shared: Record<string, object> = {}

  function schemaOf(code: string): JsonSchema {
    const name = `${pascalCase(code)}Error`
    const part = { type: 'object', properties: { code: { const: code } } }
    schemas[name] = { allOf: [refTo('Error'), { type: 'object', properties: { error: part } }] } as JsonSchema
    return refTo(name)
  }

  function responseOf(status: number, found: readonly string[]): object {
    const [one, ...more] = found.map(schemaOf)
    return {
      description: `${STATUS_CODES[status]}: ${found.map(code => `\`${code}\``).join(', ')}.`,
      ...(headersOf[status] && { headers: headersOf[status] }),
      content: { 'application/json': { schema: more.length === 0 ? one : { anyOf: [one, ...more] } } }
    }
  }

  /** Returns the error responses of an operation by status. Responses with one code, or a common set, are shared. */
  function responsesOf(declared: Declared): Record<string, object> {
    const rows = [...errorCodesOf(declared)].flatMap(code => rowOf(code) ?? [])
    const byStatus = [...Map.groupBy(rows, ({ http }) => http)].sort(([a], [b]) => a - b)
    return Object.fromEntries(
      byStatus.map(([status, rows]) => {
        const found = rows.map(({ code }) => code).sort()
        const name = found.length === 1 ? pascalCase(found[0] ?? '') : commonSets.get(found.join())
        if (name === undefined) return [status, responseOf(status, found)]
        shared[name] ??= responseOf(status, found)
        return [status, { $ref: `#/components/responses/${name}` }]
      })
    )
  }

  return { responsesOf, schemas, responses: shared }
}

const setOf = (rows: readonly ErrorCode[]): string =>
  rows
    .map(({ code }) => code)
    .sort()
    .join()

const forbidden = [codes.passwordChangeRequired, codes.enrollmentRequired, roleRequired, codes.scopeRequired]

/** Names of sets of codes that many operations share. */
const commonSets: ReadonlyMap<string, string> = new Map([
  [setOf([unauthenticated, userDisabled]), 'Unauthenticated'],
  [setOf([codes.bootstrapRequired, storeUnavailable]), 'Unavailable'],
  [setOf([codes.bootstrapRequired, storeUnavailable, storeOutcomeUnknown]), 'UnavailableChange'],
  [setOf(forbidden), 'Forbidden'],
  [setOf([...forbidden, ...csrfErrors]), 'ForbiddenChange'],
  [setOf([codes.idempotencyInProgress, codes.idempotencySecretSpent]), 'IdempotencyConflict'],
  [setOf([codes.unknownParameter, invalidSchema, codes.invalidLimit, codes.invalidCursor]), 'InvalidPage'],
  [
    setOf([
      codes.unknownParameter,
      invalidSchema,
      codes.invalidJson,
      codes.tooDeep,
      codes.unknownField,
      codes.invalidKey
    ]),
    'InvalidRequest'
  ]
])

const header = (name: string) => ({ [name]: { $ref: `#/components/headers/${name}` } })

const headersOf: Readonly<Record<number, object>> = {
  401: header('WWW-Authenticate'),
  412: header('ETag'),
  429: header('Retry-After'),
  503: header('Retry-After')
}
