import type { FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Route, Schemas } from '../../../kernel/http/route.ts'
import { closed } from '../../../kernel/http/schema.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { listParameters } from '../list/list-query.ts'
import { pageQuery } from '../list/page-query.ts'
import { bodyLimitOf, limitText } from '../request/body-limit.ts'
import { mergePatchType } from '../request/request-context.ts'
import { callersOf, mayCall, roles } from '../roles.ts'
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

/** Returns the operation of a route, without its error responses. */
export function operationOf({ plugin, route, schemas }: Declared, named: NamedSchemas) {
  const { action, access, summary, description, method, status } = route
  const body = method !== 'GET' && schemas.body
  return {
    operationId: action,
    tags: [plugin],
    summary: summary.replace(/\.$/, ''),
    description: [description ?? summary, `Access: ${callersOf(route)}.`].join('\n\n'),
    security: access === 'public' ? [] : [{ bearer: [] }, { session: [] }],
    ...(access !== 'public' && {
      'x-roles': roles.filter(role => mayCall({ role, method: 'session' }, route))
    }),
    parameters: [
      ...parametersIn('path', schemas.params, plugin, named),
      ...parametersIn('query', queryOf(route, schemas), plugin, named),
      ...(isKeyed(route) ? [parameter('IdempotencyKey')] : []),
      ...(isConditional(route) ? [parameter('IfMatch')] : []),
      parameter('SessionKey'),
      parameter('Traceparent')
    ],
    ...(body && { requestBody: requestBodyOf(route, jsonOf(body), { plugin, action, named }) }),
    responses: {
      [status]: successOf(route, jsonOf(schemas.reply), { plugin, action, named }),
      ...(route.reply === 'constant' && { 304: { description: 'Unchanged: `If-None-Match` has its ETag.' } })
    }
  }
}

const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` })

function parametersIn(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  plugin: string,
  named: NamedSchemas
) {
  const { properties = {}, required = [] } = schema ? jsonOf(schema) : {}
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
    content: { 'application/json': content, ...(route.method === 'PATCH' && { [mergePatchType]: content }) }
  }
}

function successOf(route: Route<Kernel>, reply: JsonSchema, within: Within) {
  const headers = {
    ...(hasEtag(route) && { ETag: { $ref: '#/components/headers/ETag' } }),
    ...(route.isList && { Link: { $ref: '#/components/headers/Link' } })
  }
  return {
    description: descriptionOf(route),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(route.status !== 204 && { content: contentOf(route, reply, within) })
  }
}

function descriptionOf({ status, isList, isStream, reply }: Route<Kernel>): string {
  if (status === 204) return 'Done.'
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
