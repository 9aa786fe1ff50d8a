import type { FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Route, Schemas } from '../../../kernel/http/route.ts'
import { closed } from '../../../kernel/http/schema.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { listParameters } from '../list/list-query.ts'
import { pageQuery } from '../list/page-query.ts'
import { bodyLimitOf, limitText } from '../request/body-limit.ts'
import { mergePatchType } from '../request/request-context.ts'
import { defaultsIn } from '../request/request-validator.ts'
import { callersOf, mayCall, roles } from '../roles.ts'
import { scopesOf } from '../scopes.ts'
import { type Declared, isConditional, isKeyed } from './errors.ts'
import { exampleOf } from './examples.ts'
import { asJsonSchema, type JsonSchema, jsonOf, type NamedSchemas, pascalCase } from './schemas.ts'

const nothing = closed({})

/** Returns the schemas that validate requests of a route. */
export function requestSchemas(route: Route<Kernel>, schemas: Schemas): FastifySchema {
  const { body = nothing, params, reply } = schemas
  const query = queryOf(route, schemas)
  for (const { type, additionalProperties } of [asJsonSchema(body), asJsonSchema(query)])
    if (type === 'object' && additionalProperties !== false)
      throw new TypeError(
        `${route.action}: an open schema would ignore a misspelled field; add additionalProperties: false`
      )
  if (reply === undefined)
    throw new TypeError(`${route.action}: its schema has no reply; give Type.Null() for none`)
  return { querystring: query, ...(params && { params }), ...(route.method !== 'GET' && { body }) }
}

function queryOf({ isList }: Route<Kernel>, { query = nothing, reply }: Schemas): TSchema {
  if (!isList || !Type.IsObject(query)) return query
  return closed({ ...listParameters(reply, query.properties), ...pageQuery })
}

const freshnessOf = ({ needsFresh }: Route<Kernel>): readonly string[] =>
  needsFresh ? ['A session must be fresh; see `POST /v1/auth/reauthenticate`.'] : []

/** Returns the operation of a route, without its error responses. */
export function operationOf({ plugin, route, schemas }: Declared, named: NamedSchemas) {
  const { action, access, summary, description, method, status } = route
  const body = method !== 'GET' && schemas.body
  const value = valueIn(route, schemas)
  return {
    operationId: action,
    tags: [plugin],
    summary: summary.replace(/\.$/, ''),
    description: [description ?? summary, `Access: ${callersOf(route)}.`, ...freshnessOf(route)].join('\n\n'),
    security: securityOf(route),
    ...(access !== 'public' && {
      'x-roles': roles.filter(role => mayCall({ role, method: 'session' }, route))
    }),
    ...(scopesOf(route).length > 0 && { 'x-scopes': scopesOf(route) }),
    parameters: [
      ...parametersIn('path', schemas.params, plugin, named),
      ...parametersIn('query', queryOf(route, schemas), plugin, named),
      ...(isKeyed(route) ? [parameter('IdempotencyKey')] : []),
      ...(isConditional(route) ? [parameter('IfMatch')] : []),
      parameter('SessionKey'),
      parameter('Traceparent')
    ],
    ...(body && { requestBody: requestBodyOf(route, requestJson(body), { plugin, action, named }) }),
    responses: {
      ...(value && { 200: successOf({ ...route, status: 200 }, value, { plugin, action, named }) }),
      [status]: successOf(route, jsonOf(schemas.reply), { plugin, action, named }),
      ...(route.reply === 'constant' && { 304: { description: 'Unchanged: `If-None-Match` has its ETag.' } })
    }
  }
}

/** Returns the schema of the value that a 204 may have instead, with 200; null for other routes. */
export function valueIn({ status }: Route<Kernel>, { reply }: Schemas): JsonSchema | null {
  const { anyOf = [] } = { ...asJsonSchema(reply) } // a plugin may have forgotten it
  if (status !== 204 || !anyOf.some(({ type }) => type === 'null')) return null
  const value = anyOf.find(({ type }) => type !== 'null')
  return value ? jsonOf(value as TSchema) : null
}

function securityOf({ access }: Route<Kernel>): readonly object[] {
  if (access === 'public') return []
  return access === 'session' ? [{ session: [] }] : [{ bearer: [] }, { session: [] }]
}

/** Returns the schema as callers see it: properties with a default are not required. */
function requestJson(schema: TSchema): JsonSchema {
  const { required = [], ...json } = jsonOf(schema)
  const defaults = defaultsIn(schema)
  const needed = required.filter(name => !(name in defaults))
  return needed.length > 0 ? { ...json, required: needed } : json
}

const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` })

function parametersIn(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  plugin: string,
  named: NamedSchemas
) {
  const { properties = {}, required = [] } = schema ? requestJson(schema) : {}
  return Object.entries(properties).map(([name, part]) => {
    const { description, ...shown } = named.shown(plugin, part)
    const { examples: _, ...bare } = shown
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      schema: bare,
      ...(part.examples && { example: part.examples[0] })
    }
  })
}

interface Within {
  readonly plugin: string
  readonly action: string
  readonly named: NamedSchemas
}

function requestBodyOf(route: Route<Kernel>, body: JsonSchema, within: Within) {
  const content = { schema: namedAs('Body', body, within), example: exampleOf(body, 'request') }
  const bytes = bodyLimitOf(route)
  return {
    description: `At most ${limitText(bytes)}.`,
    'x-max-bytes': bytes,
    required: body.type !== 'object' || body.required !== undefined,
    content: route.takesForm
      ? { 'application/x-www-form-urlencoded': content }
      : { 'application/json': content, ...(route.method === 'PATCH' && { [mergePatchType]: content }) }
  }
}

function successOf(route: Route<Kernel>, reply: JsonSchema, within: Within) {
  const headers = {
    ...(route.status === 302 && { Location: { description: 'Where to go.', schema: { type: 'string' } } }),
    ...(hasEtag(route) && { ETag: { $ref: '#/components/headers/ETag' } }),
    ...(route.isList && { Link: { $ref: '#/components/headers/Link' } }),
    ...(takesToken(route) && { 'X-Svc-Token-Expires': { $ref: '#/components/headers/X-Svc-Token-Expires' } })
  }
  return {
    description: descriptionOf(route),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(hasContent(route) && { content: contentOf(route, reply, within) })
  }
}

const hasContent = ({ status }: Route<Kernel>): boolean => status !== 204 && status !== 302

const takesToken = ({ access }: Route<Kernel>): boolean => access !== 'public' && access !== 'session'

function descriptionOf({ status, isList, isStream, reply }: Route<Kernel>): string {
  if (status === 204) return 'Done.'
  if (status === 302) return 'Redirect.'
  if (isStream) return 'Server-sent events.'
  if (isList) return 'One page of the list.'
  if (reply === 'text') return 'Text.'
  if (reply === 'media') return 'A file.'
  return status === 201 ? 'Created.' : 'Done; the reply shows what is there.'
}

/** Changes with a reply, and reads of one record, can have an ETag. */
const hasEtag = (route: Route<Kernel>): boolean =>
  route.reply === 'constant' || (route.status !== 204 && (isKeyed(route) || route.record !== undefined))

function contentOf(route: Route<Kernel>, reply: JsonSchema, within: Within) {
  const { isStream, isList, reply: format, csv } = route
  const example = exampleOf(reply, 'reply')
  if (format === 'text') return { 'text/plain': { schema: reply, example } }
  if (format === 'media') return { '*/*': { schema: {}, ...(reply.examples && { example }) } }
  const { plugin, named } = within
  if (isStream) return { 'text/event-stream': { schema: named.shown(plugin, reply), example } }
  const schema =
    isList && reply.items
      ? { type: 'array', items: namedAs('Row', reply.items, within) }
      : namedAs('Reply', reply, within)
  return {
    'application/json': { schema, example },
    ...(csv && { 'text/csv': { schema: { type: 'string' }, example: csv(example as never) } }) // the example of the reply
  }
}

/** Names an unnamed object after its operation, so that generated clients get a type. */
function namedAs(what: string, schema: JsonSchema, { plugin, action, named }: Within): JsonSchema {
  const shown = named.shown(plugin, schema)
  return shown.type === 'object' ? named.name(`${pascalCase(action)}${what}`, plugin, shown) : shown
}
