// The OpenAPI document of all mounted routes.
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { sessionCookie } from '../request/request-context.ts'
import { ErrorBody } from '../server/error-body.ts'
import type { HttpOptions } from '../settings.ts'
import { type Declared, openErrors } from './errors.ts'
import { operationOf } from './operation.ts'
import { jsonOf, openNamedSchemas } from './schemas.ts'

type Options = Pick<HttpOptions, 'version' | 'listen' | 'tls' | 'publicOrigin'>
type Described = Pick<Plugin, 'name' | 'description'>

interface Mounted {
  readonly plugins: readonly Described[]
  readonly routes: readonly Declared[]
  readonly codes: ReadonlyMap<string, ErrorCode>
}

/** Returns OpenAPI 3.1. Omits routes outside /v1: they are pages and files. */
export function documentOf({ plugins, routes, codes }: Mounted, options: Options): object {
  const named = openNamedSchemas()
  const errors = openErrors(code => codes.get(code))
  const shown = routes.filter(({ route }) => route.url.startsWith('/v1/'))
  named.name('Error', 'http', named.shown('http', jsonOf(ErrorBody)))
  const paths: Record<string, Record<string, object>> = {}
  for (const declared of shown) {
    const { method, url } = declared.route
    const operation = operationOf(declared, named)
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        ...operation,
        responses: { ...operation.responses, ...errors.responsesOf(declared) }
      }
    }
  }
  const tags = plugins.filter(({ name }) => shown.some(({ plugin }) => plugin === name))
  return {
    openapi: '3.1.1',
    info: infoOf(options),
    servers: [serverOf(options)],
    tags: tags.map(({ name, description = `Routes of the plugin ${name}.` }) => ({ name, description })),
    paths,
    components: {
      schemas: { ...named.all(), ...errors.schemas },
      responses: errors.responses,
      parameters,
      headers,
      securitySchemes
    }
  }
}

const infoOf = ({ version }: Options) => ({
  title: 'sluice operator API',
  version,
  summary: 'The control plane of a fleet that forwards TCP and UDP ports.',
  description: `Bodies are JSON. Fields and parameters that an operation does not have are refused, with the closest name.

- **Errors** have one shape, \`{error: {code, message, details?}}\`. \`code\` is for programs; each operation lists the codes that it may answer with.
- **Lists** are arrays. \`limit\` and the \`Link\` header give pages; \`sort\` orders the rows, and properties with known values are filters.
- **Retries**: a change with an \`Idempotency-Key\` is made once; the repeat gets the first response.
- **Lost updates**: a change with \`If-Match\` and the \`ETag\` of the record is refused with 412 if somebody else changed the record.
- **Times** are RFC 3339 in UTC; quotas and traffic have Unix seconds.
- Every response has an \`x-request-id\`, which the server's log and the audit log show, too.`,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }
})

const serverOf = ({ publicOrigin, listen, tls }: Options) => ({
  url: '{origin}',
  description: 'This server.',
  variables: {
    origin: {
      default: publicOrigin ?? `${tls ? 'https' : 'http'}://${listen}`,
      description: 'Scheme and authority of the operator API.'
    }
  }
})

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of a credential, or the operator token of the configuration.'
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description:
      'A web session, opened by `POST /v1/auth/login`. Changes also need `Origin` and `X-Svc-CSRF: 1`. A session that was opened with `X-Svc-Session-Key` needs the same header with each request.'
  }
}

const parameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'A retry with the same key and body, within 24 hours, gets the first response.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    example: 'push-8443-of-paris'
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.',
    schema: { type: 'string' },
    example: '"42"'
  },
  SessionKey: {
    name: 'X-Svc-Session-Key',
    in: 'header',
    description:
      'A random secret of the caller. A session that is opened with it accepts its cookie only together with the same header.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{22,86}$' },
    example: 'EXAMPLE-key-of-a-session'
  },
  Traceparent: {
    name: 'traceparent',
    in: 'header',
    description:
      'W3C Trace Context: log lines of server and agent have its trace id as `trace_id`, and the plugin `traces` records the request.',
    schema: { type: 'string' },
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  }
}

const headers = {
  ETag: {
    description: 'The version of the record, for `If-Match`; absent where it has none.',
    schema: { type: 'string' },
    example: '"42"'
  },
  Link: {
    description: 'The next page, with `rel="next"`; absent on the last.',
    schema: { type: 'string' },
    example: '</v1/rules?limit=100&cursor=PTAxS0I>; rel="next"'
  },
  'Retry-After': {
    description: 'Seconds to wait; absent where the server cannot know.',
    schema: { type: 'integer' },
    example: 60
  },
  'X-Svc-Token-Expires': {
    description: 'When the token of the request expires; only within the last 14 days.',
    schema: { type: 'string', format: 'date-time' },
    example: '2026-01-31T12:00:00.000Z'
  },
  'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' }, example: 'Bearer' }
}
