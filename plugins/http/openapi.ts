import type { FastifySchema } from 'fastify'
import { Type } from 'typebox'
import type { Route, Schemas } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { ErrorBody } from './error-body.ts'
import { pageQuery } from './paging.ts'

const nothing = closed({})

/** Returns the schemas of a route, for validation and for the document. */
export function schemaOf(plugin: string, route: Route<Kernel>, schemas: Schemas): FastifySchema {
  const { body = nothing, query = nothing, params, reply } = schemas
  for (const part of [body, query] as readonly Schema[])
    if (part.type === 'object' && part.additionalProperties !== false)
      throw new TypeError(
        `${route.action}: an open schema would ignore a misspelled field; add additionalProperties: false`
      )
  if (reply === undefined)
    throw new TypeError(`${route.action}: its schema has no reply; give Type.Null() for none`)
  const hasPages = route.isList && Type.IsObject(query)
  return {
    hide: !route.url.startsWith('/v1/'), // pages and files are not the API
    tags: [plugin],
    operationId: route.action,
    summary: route.summary,
    security: route.access === 'public' ? [] : [{ bearer: [] }, { session: [] }],
    querystring: hasPages ? closed({ ...query.properties, ...pageQuery }) : query,
    ...(params && { params }),
    ...(route.method !== 'GET' && { body }),
    response: { [route.status]: replySchemaOf(route, reply), default: ErrorBody }
  }
}

function replySchemaOf({ status, isStream, reply: format }: Route<Kernel>, reply: Schemas['reply']): object {
  if (status === 204) return Type.Null({ description: 'Done.' })
  if (format === 'text') return { description: 'Text.', content: { 'text/plain': { schema: reply } } }
  if (format === 'media') return { description: 'A file.', content: { '*/*': { schema: {} } } }
  if (!isStream) return reply
  return { description: 'Server-sent events.', content: { 'text/event-stream': { schema: reply } } }
}

const IdempotencyKey = Type.String({
  pattern: '^[A-Za-z0-9._-]{1,128}$',
  description: 'A retry with the same key and body gets the first response.'
})

const IfMatch = Type.String({
  description:
    'ETags, or *: if the record has another one by now, the response is 412 and nothing is changed.'
})
const ETag = Type.String({ description: 'The version of the record; absent where it has none.' })

interface Documented {
  readonly schema: FastifySchema
  readonly url: string
  readonly route: { readonly method: unknown; readonly config?: { readonly route?: Route<Kernel> } }
}

/** Adds headers and 412, and removes empty bodies and the error codes that schemas name. */
function document({ schema: { body, response, ...rest }, url, route }: Documented) {
  const isKeyed = route.method !== 'GET' && !url.startsWith('/v1/auth/')
  const isConditional = ['PUT', 'PATCH', 'DELETE'].includes(String(route.method))
  const headers = Type.Object({
    ...(isKeyed && { 'Idempotency-Key': Type.Optional(IdempotencyKey) }),
    ...(isConditional && { 'If-Match': Type.Optional(IfMatch) })
  })
  const shown = {
    ...rest,
    ...(body !== nothing && { body }),
    ...(isKeyed && { headers }),
    response: {
      ...withEtag(response as Responses, route.config?.route, isKeyed),
      ...(isConditional && { 412: { ...ErrorBody, description: 'resource_changed: see If-Match.' } })
    }
  }
  const isHidden = (key: string, part: unknown) => key === 'code' && typeof part === 'string'
  const schema = JSON.stringify(shown, (key, part) => (isHidden(key, part) ? undefined : part))
  return { schema: JSON.parse(schema) as FastifySchema, url }
}

type Responses = Readonly<Record<string, object>>

/** Changes with a reply, and reads of one record, may have an ETag. */
function withEtag(responses: Responses, route: Route<Kernel> | undefined, isChange: boolean): Responses {
  if (!route || route.status === 204 || !(isChange || route.record)) return responses
  return { ...responses, [route.status]: { ...responses[route.status], headers: { ETag } } }
}

/** Marks bodies whose fields are all optional as optional; Swagger marks every body as required. */
function markOptionalBodies(openapi: object): object {
  const { paths } = openapi as { readonly paths: Readonly<Record<string, object>> }
  for (const { requestBody: body } of Object.values(paths).flatMap(path => Object.values(path))) {
    const { type, required }: Schema = body?.content['application/json'].schema ?? {}
    if (type === 'object' && required === undefined) body.required = false
  }
  return openapi
}

interface Schema {
  readonly type?: unknown
  readonly required?: unknown
  readonly additionalProperties?: unknown
}

export const openapi = (version: string) => ({
  openapi: {
    openapi: '3.1.0',
    info: { title: 'sluice operator API', version },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'svc_session' }
      }
    }
  } as const,
  transform: document,
  transformObject: (found: object) =>
    markOptionalBodies('openapiObject' in found ? (found.openapiObject as object) : found)
})
