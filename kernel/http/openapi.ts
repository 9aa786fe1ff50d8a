import type { FastifySchema } from 'fastify'
import { Type } from 'typebox'
import type { Kernel } from '../plugin.ts'
import { ErrorBody } from './envelope.ts'
import { pageQuery } from './paging.ts'
import type { Route, Schemas } from './route.ts'

const nothing = Type.Object({}, { additionalProperties: false })

/** The schemas of a route, for validation and for the document. */
export function schemaOf(plugin: string, route: Route<Kernel>, schemas: Schemas): FastifySchema {
  const { body = nothing, query = nothing, params, reply } = schemas
  const asked = route.isList && Type.IsObject(query) ? { ...query.properties, ...pageQuery } : null
  return {
    tags: [plugin],
    operationId: route.action,
    summary: route.summary,
    security: route.access === 'public' ? [] : [{ bearer: [] }, { session: [] }],
    querystring: asked ? Type.Object(asked, { additionalProperties: false }) : query,
    ...(params && { params }),
    ...(route.method !== 'GET' && { body }),
    response: {
      [route.status]: route.status === 204 ? Type.Null({ description: 'Done.' }) : reply,
      default: ErrorBody
    }
  }
}

const IdempotencyKey = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._-]{1,128}$',
      description: 'A repeat with the same key and body gets the first answer.'
    })
  )
})

/** What only the document says. The codes that schemas name for the host are not part of it. */
export function documented({
  schema,
  url,
  route
}: {
  schema: FastifySchema
  url: string
  route: { method: unknown }
}) {
  const { body, ...rest } = schema
  const isKeyed = route.method !== 'GET' && !url.startsWith('/v1/auth/')
  const shown = { ...rest, ...(body !== nothing && { body }), ...(isKeyed && { headers: IdempotencyKey }) }
  return { schema: plain(shown), url }
}

const plain = (schema: object): FastifySchema =>
  JSON.parse(
    JSON.stringify(schema, (key, part) => (key === 'code' && typeof part === 'string' ? undefined : part))
  )

export const openapi = (version: string) => ({
  openapi: '3.1.0' as const,
  info: { title: 'sluice operator API', version },
  components: {
    securitySchemes: {
      bearer: { type: 'http' as const, scheme: 'bearer' },
      session: { type: 'apiKey' as const, in: 'cookie' as const, name: 'svc_session' }
    }
  }
})
