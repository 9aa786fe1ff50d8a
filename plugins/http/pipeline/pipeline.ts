// The steps of every request, in the order of README.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, notFound } from '../../../kernel/base/errors.ts'
import { currentPayer, currentRequestId } from '../../../kernel/base/request-id.ts'
import { currentTrace } from '../../../kernel/base/trace.ts'
import type { Principal, RequestInfo } from '../../../kernel/http/principal.ts'
import type { Route } from '../../../kernel/http/route.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { methodNotAllowed, unsupportedMediaType } from '../codes.ts'
import type { SendSite } from '../pages/site.ts'
import { parseAddress } from '../request/forwarded-headers.ts'
import {
  healthPaths,
  isForm,
  isJson,
  isRead,
  onceClosed,
  pathOf,
  type RequestContext,
  sessionCookie
} from '../request/request-context.ts'
import { openConstantReplies } from '../server/constant-reply.ts'
import type { HttpOptions } from '../settings.ts'
import { openStreams } from '../streams/streams.ts'
import { type FairTurns, networkPayer } from './fair-turns.ts'
import { type Guard, openConcurrencyLimit, openGuard, payerOf } from './guard.ts'
import { type Idempotency, openIdempotency } from './idempotency.ts'
import { KnownCredentials } from './known-credentials.ts'
import { isLarge, LargeBodies } from './large-bodies.ts'
import { endTrace, type RequestTrace, traceOf } from './request-trace.ts'
import { openResponder, type Responder, setCommonHeaders } from './responder.ts'
import { routeHandler } from './route-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route<Kernel>
    plugin?: string // of the route
    query?: TSchema // of the route, without list parameters
    mayReply?: true // a 204 that can have a value
    errors?: () => ReadonlySet<string> // codes in the OpenAPI document, if its schema has `errors`
  }
  interface FastifyRequest {
    requestContext: RequestContext | null // null until a route is found
    requestTrace: RequestTrace | null
    bodyTurn: (() => Promise<void>) | null // resolves when the body may be parsed; null: at once
  }
}

interface PipelineOptions extends HttpOptions {
  readonly turns: FairTurns
}

type Tracing = Pick<PipelineOptions, 'turns' | 'findTracer'>

/** Adds the steps to `app`. Returns a function that creates the steps of one route. */
export function openPipeline(app: FastifyInstance, options: PipelineOptions, sendSite: SendSite) {
  const { clock, httpMetrics, publicOrigin, log, turns } = options
  const guard = openGuard(options)
  const concurrencyLimit = openConcurrencyLimit()
  const known = new KnownCredentials(guard)
  const largeBodies = new LargeBodies(clock)
  const idempotency = openIdempotency(options)
  const responder = openResponder(options, idempotency)
  const streams = openStreams(options, guard)
  const services = { ...options, guard, idempotency, responder, streams, sendConstant: openConstantReplies() }
  const routes: Route<Kernel>[] = []

  for (const name of ['requestContext', 'requestTrace', 'bodyTurn']) app.decorateRequest(name, null)
  app.addHook('onRequest', (request, _, done) => runTraced(request, options, done))

  app.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply)
    const presented = { credential: credentialHash(request.headers), known }
    await arrive(request, reply, turns, presented) // 429
    const { route } = request.routeOptions.config
    if (!route || hasEmptyParam(request)) return sendSite(request, reply, () => noSuchRoute(request, routes)) // else 404, 405
    const context = newRequestContext(request, route, publicOrigin)
    request.requestContext = context
    await authorize(context, guard, presented).finally(() => announceExpiry(context, reply, clock)) // 503, 401, 403
    concurrencyLimit.enter(context) // 429
    onceClosed(reply.raw, () => concurrencyLimit.leave(context)) // sent completely, or the caller disconnected
    refuseMediaType(context) // 415
    await begin(request, context, reply, { turns, largeBodies }) // 429
  })

  app.addHook('onRequest', (request, _, done) => runAsPayer(request, turns, done))

  // Fastify reads and parses the body here: 413, 400, 408; it waits for a turn between: 429
  const preValidation = claimer({ guard, idempotency, responder })
  // Fastify validates body, query and path here (400), then calls the handler of the route: route-handler.ts

  app.setErrorHandler(responder.sendError)

  app.addHook('onSend', ({ requestContext: context }, _reply, _payload, done) => {
    if (context?.claim) idempotency.release(context.claim)
    done()
  })

  app.addHook('onResponse', (request, reply, done) => {
    httpMetrics.countResponse(request, reply)
    if (request.requestTrace) runAsPayer(request, turns, () => endTrace(request, reply, log))
    done()
  })
  app.addHook('preClose', async () => streams.endAll())

  return (route: Route<Kernel>, deps: Kernel, plugin: string) => {
    routes.push(route)
    const handler = routeHandler({ route, deps, plugin }, services)
    return { handler, ...(route.method !== 'GET' && { preValidation }) }
  }
}

const healthMs = 0.1 // charged, since no turn measures it

interface Presented {
  readonly credential: string // its hash; empty without one
  readonly known: KnownCredentials
}

/** Waits until the caller has its turn: the user of a known credential, else the address. Health checks within budget do not wait. */
async function arrive(
  request: FastifyRequest,
  { raw }: FastifyReply,
  turns: FairTurns,
  { credential, known }: Presented
): Promise<void> {
  const address = networkPayer(remoteAddress(request))
  if (healthPaths.has(pathOf(request.url))) {
    const payer = `health ${address}`
    turns.charge(payer, healthMs)
    if (!turns.isExceeded(payer)) return
  }
  const user = known.payerOf(credential, remoteAddress(request))
  await (user === undefined ? turns.take(address, raw, { lane: credential }) : turns.take(user, raw))
}

function credentialHash({ authorization, cookie }: FastifyRequest['headers']): string {
  const credential = authorization ?? cookie ?? ''
  return credential === '' ? '' : hashOf(credential)
}

async function authorize(
  context: RequestContext,
  guard: Guard,
  { credential, known }: Presented
): Promise<void> {
  try {
    await guard.authorize(context)
  } catch (error) {
    if (context.principal.method === 'none') known.forget(credential, context.requestInfo.remoteAddr)
    throw error
  }
  const { principal } = context
  if (principal.method !== 'none' && credential !== '')
    known.remember(credential, payerOf(context), principal.token)
}

const announcedMs = 14 * 24 * 3_600_000

/** Tells the caller when its token expires, within the last 14 days. */
function announceExpiry(
  { principal }: RequestContext,
  reply: FastifyReply,
  clock: HttpOptions['clock']
): void {
  const expiresAt = principal.token?.expiresAt
  if (expiresAt != null && expiresAt - clock.now() <= announcedMs)
    reply.header('x-svc-token-expires', timestamp(expiresAt))
}

interface Queues {
  readonly turns: FairTurns
  readonly largeBodies: LargeBodies
}

/**
 * Waits until the caller has its turn. A body gets another turn when it has arrived. It is not read under overload, or while
 * other large ones of the caller are in work.
 */
async function begin(
  request: FastifyRequest,
  context: RequestContext,
  { raw }: FastifyReply,
  { turns, largeBodies }: Queues
): Promise<void> {
  const payer = payerOf(context)
  if (!isRead(context) && context.requestInfo.hasBody) {
    request.bodyTurn = () => turns.take(payer, raw)
    if (hasLargeBody(request, context)) await largeBodies.enter(payer, raw)
    if (turns.isCrowdedOut(payer)) await turns.take(payer, raw, { what: 'body' })
  } else if (context.principal.method !== 'none') await turns.take(payer, raw)
}

const hasLargeBody = ({ routeOptions }: FastifyRequest, { requestInfo }: RequestContext): boolean =>
  isLarge(requestInfo, routeOptions.bodyLimit)

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
    if (hasLargeBody(request, context)) await request.bodyTurn?.() // else it delays others by all steps at once
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

/** The router takes `/v1/rules/` as a rule with an empty id. */
const hasEmptyParam = ({ params }: FastifyRequest): boolean => Object.values(params ?? {}).includes('')

const patternOf = ({ url }: Route<Kernel>): RegExp =>
  new RegExp(`^${url.replaceAll('.', '[.]').replaceAll(/:\w+/g, '[^/]+')}$`)

function refuseMediaType(context: RequestContext): void {
  const { requestInfo } = context
  if (!requestInfo.hasBody || isRead(context)) return
  if (!isJson(requestInfo) && !isForm(context))
    throw new Fault(unsupportedMediaType, 'send the body as application/json')
  const coding = requestInfo.headers['content-encoding'] ?? 'identity'
  if (!/^\s*identity\s*$/i.test(String(coding)))
    throw new Fault(unsupportedMediaType, `send the body without Content-Encoding, got ${quoted(coding)}`)
  const charset = charsetsIn(requestInfo).find(name => !/^utf-?8$/i.test(name))
  if (charset !== undefined)
    throw new Fault(unsupportedMediaType, `send the body in UTF-8, got the charset ${quoted(charset)}`)
}

const charsetsIn = ({ contentType = '' }: RequestInfo): string[] =>
  [...contentType.matchAll(/;\s*charset[*\d]*\s*=\s*(?:"([^"]*)"|([^;\s]*))/gi)].map(
    ([, quoted, bare]) => quoted ?? bare ?? ''
  )

const quoted = (text: unknown): string => JSON.stringify(String(text).slice(0, 64))

const none = Object.freeze({})
const anonymous: Principal = { userId: '', role: 'user', method: 'none' }

/** Returns the address of the connection, or an empty text once it is closed. */
const peerAddress = ({ socket }: FastifyRequest): string => parseAddress(socket.remoteAddress ?? '') ?? ''

/** Returns the caller's address: that of the connection, if a trusted proxy sends none or no address. */
const remoteAddress = (request: FastifyRequest): string =>
  parseAddress(request.ip ?? '') ?? peerAddress(request)

function newRequestContext(
  request: FastifyRequest,
  route: Route<Kernel>,
  publicOrigin: string | null
): RequestContext {
  const { id, method, url, headers } = request
  const cookies = headers.cookie === undefined ? none : request.server.parseCookie(headers.cookie)
  const requestInfo: RequestInfo = {
    method,
    path: pathOf(url),
    authorization: isIgnored(headers.authorization, cookies) ? undefined : headers.authorization,
    cookies,
    originHeader: headers.origin,
    ownOrigin: publicOrigin ?? `${request.protocol}://${headers.host ?? ''}`,
    csrfHeader: headers['x-svc-csrf']?.toString(),
    contentType: headers['content-type'],
    hasBody: headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
    headers,
    peerAddr: peerAddress(request),
    remoteAddr: remoteAddress(request)
  }
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  return {
    route,
    requestInfo,
    requestId: id,
    conditions: ifMatch === undefined && ifNoneMatch === undefined ? null : { ifMatch, ifNoneMatch },
    principal: anonymous,
    auditReason: null,
    resource: null,
    decision: null,
    etag: null,
    claim: null,
    isTrial: false,
    isRefused: false,
    refusal: null
  }
}

/** True for another scheme than Bearer beside a session cookie: a proxy in front of the server may ask for it. */
const isIgnored = (authorization: string | undefined, cookies: RequestInfo['cookies']): boolean =>
  cookies[sessionCookie] !== undefined && !/^bearer( |$)/i.test(authorization ?? '')

/** Runs `work` with the user as its payer, or with the address if there is none. */
function runAsPayer({ requestContext: context }: FastifyRequest, turns: FairTurns, work: () => void): void {
  if (context) currentPayer.run(turns.payer(payerOf(context)), work)
  else work()
}

/** Runs `next` with request id and trace for its log lines, and for now with the address as its payer. */
function runTraced(request: FastifyRequest, { turns, findTracer }: Tracing, next: () => void): void {
  request.requestTrace = traceOf(request, findTracer())
  const { current } = request.requestTrace ?? {}
  const traced = current ? () => currentTrace.run(current, next) : next
  const payer = turns.payer(networkPayer(remoteAddress(request)))
  currentPayer.run(payer, () => currentRequestId.run(request.id, traced))
}
