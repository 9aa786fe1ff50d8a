// The steps of every request, in the order of README.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Fault, notFound } from '../../../kernel/base/errors.ts'
import { currentRequestId, currentTraceId } from '../../../kernel/base/request-id.ts'
import type { Principal, RequestInfo } from '../../../kernel/http/principal.ts'
import type { Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { methodNotAllowed, unsupportedMediaType } from '../codes.ts'
import type { SendSite } from '../pages/site.ts'
import {
  isForm,
  isJson,
  isRead,
  onceClosed,
  pathOf,
  type RequestContext
} from '../request/request-context.ts'
import { openConstantReplies } from '../server/constant-reply.ts'
import type { HttpOptions } from '../settings.ts'
import { openStreams } from '../streams/streams.ts'
import { type Guard, openConcurrencyLimit, openGuard } from './guard.ts'
import { type Idempotency, openIdempotency } from './idempotency.ts'
import { openResponder, type Responder, setCommonHeaders } from './responder.ts'
import { routeHandler } from './route-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route<Kernel>
    plugin?: string // of the route
    query?: TSchema // of the route, without list parameters
    errors?: () => ReadonlySet<string> // codes in the OpenAPI document, if its schema has `errors`
  }
  interface FastifyRequest {
    requestContext: RequestContext | null // null until a route is found
  }
}

/** Adds the steps to `app`. Returns a function that creates the steps of one route. */
export function openPipeline(app: FastifyInstance, options: HttpOptions, sendSite: SendSite) {
  const { httpMetrics, publicOrigin, log } = options
  const guard = openGuard(options)
  const concurrencyLimit = openConcurrencyLimit()
  const idempotency = openIdempotency(options)
  const responder = openResponder(options, idempotency)
  const streams = openStreams(options, guard)
  const sendConstant = openConstantReplies()
  const services = { ...options, guard, idempotency, responder, streams, sendConstant }
  const routes: Route<Kernel>[] = []

  app.decorateRequest('requestContext', null)
  app.addHook('onRequest', (request, _, done) => runTraced(request, done))

  app.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply)
    const { route } = request.routeOptions.config
    if (!route) return sendSite(request, reply, () => noSuchRoute(request, routes)) // else 404, 405
    const context = newRequestContext(request, route, publicOrigin)
    request.requestContext = context
    await guard.authorize(context) // 503, 401, 403
    concurrencyLimit.enter(context) // 429
    onceClosed(reply.raw, () => concurrencyLimit.leave(context)) // sent completely, or the caller disconnected
    refuseMediaType(context) // 415
  })

  // Fastify reads and parses the body here: 413, 400, 408

  const preValidation = claimer({ guard, idempotency, responder })

  // Fastify validates body, query and path here (400), then calls the handler of the route: route-handler.ts

  app.setErrorHandler(responder.sendError)

  app.addHook('onSend', ({ requestContext: context }, _reply, _payload, done) => {
    if (context?.claim) idempotency.release(context.claim)
    done()
  })

  app.addHook('onResponse', (request, reply, done) => {
    httpMetrics.countResponse(request, reply)
    logTraced(log, request, reply)
    done()
  })
  app.addHook('preClose', async () => streams.endAll())

  return (route: Route<Kernel>, deps: Kernel, plugin: string) => {
    routes.push(route)
    const handler = routeHandler({ route, deps, plugin }, services)
    return { handler, ...(route.method !== 'GET' && { preValidation }) }
  }
}

interface Claiming {
  readonly guard: Guard
  readonly idempotency: Idempotency
  readonly responder: Responder
}

/** Returns the step between reading and validating the body of a change. */
const claimer =
  ({ guard, idempotency, responder }: Claiming) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const { requestContext: context, headers } = request
    if (!context) return
    if (request.body === undefined) request.body = {}
    if (context.requestInfo.hasBody) await guard.authorize(context) // the body can take long to arrive: 401, 403
    const key = headers['idempotency-key']
    if (key !== undefined) context.claim = await idempotency.claim(context, String(key), request.body) // 400, 409, 422
    const earlier = context.claim?.earlier
    if (earlier) context.resource = earlier.resource
    if (earlier?.outcome) return responder.send(context, reply, earlier.outcome)
  }

/** Returns `not_found`, or `method_not_allowed` if the path has routes of other methods. */
function noSuchRoute({ method, url }: FastifyRequest, routes: readonly Route<Kernel>[]): Fault {
  const path = pathOf(url)
  const methods = new Set(routes.filter(route => patternOf(route).test(path)).map(route => route.method))
  if (methods.size === 0) return new Fault(notFound, `there is no ${method} ${path}`)
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])]
  return new Fault(methodNotAllowed, `${path} supports ${allow.join(', ')}`, { details: { allow } })
}

const patternOf = ({ url }: Route<Kernel>): RegExp =>
  new RegExp(`^${url.replaceAll('.', '[.]').replaceAll(/:\w+/g, '[^/]*')}$`)

function refuseMediaType(context: RequestContext): void {
  const { hasBody } = context.requestInfo
  if (hasBody && !isRead(context) && !isJson(context.requestInfo) && !isForm(context))
    throw new Fault(unsupportedMediaType, 'send the body as application/json')
}

const none = Object.freeze({})
const anonymous: Principal = { userId: '', role: 'user', method: 'none' }

/** Returns an empty text once the connection is closed. Converts IPv4-mapped addresses to IPv4. */
const plainAddress = (address: string | undefined): string =>
  (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

function newRequestContext(
  request: FastifyRequest,
  route: Route<Kernel>,
  publicOrigin: string | null
): RequestContext {
  const { id, method, url, headers } = request
  const requestInfo: RequestInfo = {
    method,
    path: pathOf(url),
    authorization: headers.authorization,
    cookies: headers.cookie === undefined ? none : request.server.parseCookie(headers.cookie),
    originHeader: headers.origin,
    ownOrigin: publicOrigin ?? `${request.protocol}://${headers.host ?? ''}`,
    csrfHeader: headers['x-svc-csrf']?.toString(),
    contentType: headers['content-type'],
    hasBody: headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
    headers,
    peerAddr: plainAddress(request.socket.remoteAddress),
    remoteAddr: plainAddress(request.ip)
  }
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  return {
    route,
    requestInfo,
    requestId: id,
    conditions: ifMatch === undefined && ifNoneMatch === undefined ? null : { ifMatch, ifNoneMatch },
    principal: anonymous,
    resource: null,
    decision: null,
    etag: null,
    claim: null,
    isRefused: false
  }
}

/** See https://www.w3.org/TR/trace-context/. */
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a `traceparent` header, or null if it is malformed. Later versions can be longer. */
export function traceIdOf(header: string | readonly string[] | undefined): string | null {
  const [, version, traceId, more] = traceparent.exec(String(header)) ?? []
  return traceId === undefined || (version === '00' && more !== undefined) ? null : traceId
}

/** Runs `next` with request id and trace id for its log lines. */
function runTraced({ id, headers }: FastifyRequest, next: () => void): void {
  const traceId = traceIdOf(headers['traceparent'])
  currentRequestId.run(id, () => (traceId === null ? next() : currentTraceId.run(traceId, next)))
}

/** Logs traced requests. It passes both ids: a response can end outside its request's context. */
function logTraced(log: Kernel['log'], { method, url, id, headers }: FastifyRequest, reply: FastifyReply) {
  const traceId = traceIdOf(headers['traceparent'])
  if (traceId === null) return
  log.debug('request.traced', `${method} ${pathOf(url)}: ${reply.statusCode}`, {
    request_id: id,
    trace_id: traceId,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime)
  })
}
