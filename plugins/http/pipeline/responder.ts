import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Media } from '../../../kernel/http/route.ts'
import { decisionAbout, isDenial, isTransient, isUnavailable } from '../change/decision.ts'
import { csvType, prefersCsv } from '../list/csv-text.ts'
import type { Listing } from '../list/list-route.ts'
import { pageOf } from '../list/page-query.ts'
import { isRead, type Outcome, pathOf, type RequestContext } from '../request/request-context.ts'
import { acceptsGzip, isLong, openCompression } from '../server/compression.ts'
import {
  errorJson,
  faultOf,
  faultOfRequest,
  jsonType,
  sendFault,
  textType,
  toJson
} from '../server/error-body.ts'
import type { HttpOptions } from '../settings.ts'
import type { Idempotency } from './idempotency.ts'

/**
 * Sends results and errors once the outcome is recorded: the decision about every mutation and every denial in
 * `http.decision`, and the response for the Idempotency-Key.
 */
export interface Responder {
  send(context: RequestContext, reply: FastifyReply, outcome: Outcome, type?: string): Promise<FastifyReply>
  sendResult(
    result: unknown,
    context: RequestContext,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply>
  sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  /** Warns once about an error of a route that its OpenAPI document lacks. */
  reportUndeclared(request: FastifyRequest, error: unknown): void
}

export function openResponder(
  options: HttpOptions,
  idempotency: Pick<Idempotency, 'recordOutcome'>
): Responder {
  const { store, log, httpMetrics, nameRecords } = options
  const complete = openOutcomes(options, idempotency)
  const reportUndeclared = openUndeclared(log)
  const sendText = openTextSender()

  async function send(context: RequestContext, reply: FastifyReply, outcome: Outcome, type = jsonType) {
    await complete(context, outcome)
    const { status, body } = outcome
    reply.code(status)
    return body ? sendText(reply.type(type), body, context) : reply.send()
  }

  async function sendResult(
    result: unknown,
    context: RequestContext,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const { status, isList, reply: format, csv } = routeFor(result, context, request)
    if (context.etag !== null) reply.header('etag', context.etag)
    if (format === 'text' && !(result instanceof Readable))
      return send(context, reply, { status, reason: null, body: String(result) }, textType)
    if (format === 'text' || format === 'media') {
      const media: Media = {
        status,
        ...(result instanceof Readable ? { type: textType, body: result } : (result as Media))
      }
      await complete(context, outcomeOf(media, context))
      return sendMedia(reply, media)
    }
    if (csv && prefersCsv(request.headers.accept))
      return send(context, reply, { status, reason: null, body: csv(result) }, csvType)
    const value = isList ? await pageOf(result as Listing<unknown>, request, reply, store) : result
    return send(context, reply, { status, reason: null, body: status === 204 ? '' : toJson(value) })
  }

  async function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const fault = await recorded(await nameRecords(faultOfRequest(error, request)), request)
    noteFailure(log, request, fault)
    return sendFault(reply, fault)
  }

  /** Returns the fault, or an internal one if the refusal cannot be recorded. */
  async function recorded(fault: Fault, request: FastifyRequest): Promise<Fault> {
    const { requestContext: context } = request
    if (!context) return fault
    const { code: reason, http: status } = fault.errorCode
    context.isRefused = true
    httpMetrics.countRefusal(context, fault.errorCode)
    try {
      await complete(context, { status, reason: context.auditReason ?? reason, body: errorJson(fault) })
      return fault
    } catch (cause) {
      return faultOf(cause, request.id)
    }
  }

  return { send, sendResult, sendError, reportUndeclared }
}

/** Returns the route, with the status of this result. */
const routeFor = (result: unknown, { route }: RequestContext, { routeOptions }: FastifyRequest) =>
  routeOptions.config.mayReply && result !== null ? { ...route, status: 200 } : route

/** A page or redirect may tell a refusal. */
const outcomeOf = (media: Media, { refusal, route }: RequestContext): Outcome => ({
  status: refusal?.status ?? media.status ?? route.status,
  reason: refusal?.reason ?? null,
  body: ''
})

/** Returns a function that records denials, refusals and responses for the key, unless the change's transaction has. */
function openOutcomes(
  { store, clock, recorder }: Pick<HttpOptions, 'store' | 'clock' | 'recorder'>,
  idempotency: Pick<Idempotency, 'recordOutcome'>
) {
  return async (context: RequestContext, outcome: Outcome): Promise<void> => {
    const { decision, claim, route, resource, isTrial } = context
    const { status, reason } = outcome
    const isNoChange = isRead(context) || isTrial
    const needsNone = (isNoChange && !isDenial(status, reason)) || isUnavailable(status, reason)
    const isRecorded = decision ? decision.status === status : needsNone
    const keptClaim = claim && !claim.earlier && !isTrial && !isTransient(status) ? claim : null
    if (!keptClaim && (isRecorded || !recorder.isNeeded())) return
    const about = { action: route.action, resource, status, reason, timestamp: clock.now() }
    const made = decisionAbout(context, about) // once, even if the change is retried
    context.decision = await store.change(async em => {
      if (keptClaim) await idempotency.recordOutcome(keptClaim, context, outcome, em)
      if (isRecorded) return decision
      return decision ? recorder.complete(decision, status, reason, em) : recorder.write(made, em)
    })
  }
}

export function setCommonHeaders({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
}

/**
 * Compresses long bodies, except those with an ETag, since a strong ETag must not name two encodings and weak ones never
 * match, and those with secrets, since the compressed length would reveal information about them.
 */
function openTextSender() {
  const compress = openCompression()
  return async (reply: FastifyReply, text: string, { route, requestInfo, etag }: RequestContext) => {
    const { csv } = route
    if (csv) reply.header('vary', 'accept')
    if (etag !== null || route.secrets || !isLong(text)) return sendBody(reply, text)
    reply.header('vary', csv ? 'accept, accept-encoding' : 'accept-encoding')
    const compressed = acceptsGzip(requestInfo.headers) ? await compress(Buffer.from(text)) : null
    return compressed ? sendBody(reply.header('content-encoding', 'gzip'), compressed) : sendBody(reply, text)
  }
}

/** `plugin` owns the route; attributionOf names the plugin that filled a failing slot. */
/** For the trace of the request, and for the log if it is a fault of this server. */
function noteFailure(log: HttpOptions['log'], request: FastifyRequest, fault: Fault): void {
  const { cause, errorCode } = fault
  if (request.requestTrace) request.requestTrace.failure = fault
  if (errorCode.http !== 500) return
  log.error('request.failed', `${request.method} ${pathOf(request.url)} failed`, {
    request_id: request.id,
    plugin: request.routeOptions.config.plugin,
    ...attributionOf(cause),
    error: cause instanceof Error ? cause.stack : String(cause)
  })
}

/** Returns a function that warns about errors missing from the OpenAPI document, once per route and code. */
function openUndeclared(log: HttpOptions['log']) {
  const reported = new Set<string>() // 'rule.create port_in_use'
  return ({ routeOptions: { config } }: FastifyRequest, error: unknown): void => {
    const { route, plugin, errors } = config
    if (!route || !(error instanceof Fault)) return
    const { code } = error.errorCode
    const what = `${route.action} ${code}`
    if (errors === undefined || reported.has(what) || errors().has(code)) return
    reported.add(what)
    const fields = { plugin, action: route.action, code }
    log.warn('route.undeclared_error', 'the route lacks a code in the `errors` of its schema', fields)
  }
}

/** Pages load from and send to this server only, and no other site can frame them. */
const contentSecurityPolicy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

export function sendMedia(
  reply: FastifyReply,
  { status = 200, type, body, headers = {} }: Media
): FastifyReply {
  const defaults = { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'no-referrer' }
  reply
    .code(status)
    .headers({ ...defaults, ...headers })
    .type(type)
  return body instanceof Readable
    ? reply.send(body)
    : sendBody(reply, typeof body === 'string' ? body : Buffer.from(body))
}

const pieceBytes = 64 * 1024

/** Sends a long body in chunks, so that the connection of a slow reader counts as active. */
export function sendBody(reply: FastifyReply, body: string | Buffer): FastifyReply {
  if (typeof body === 'string' && !isLong(body)) return reply.send(body) // a single write, with the headers
  const bytes = typeof body === 'string' ? Buffer.from(body) : body // a socket encodes long strings more slowly
  if (bytes.length <= pieceBytes) return reply.send(bytes)
  const starts = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) => i * pieceBytes)
  const pieces = starts.map(start => bytes.subarray(start, start + pieceBytes))
  return reply.header('content-length', bytes.length).send(Readable.from(pieces))
}
