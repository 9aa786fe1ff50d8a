import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { currentRequestId, currentTraceId } from '../../../kernel/base/request-id.ts'
import type { Principal, RequestInfo } from '../../../kernel/http/principal.ts'
import type { Resource, Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Decision } from '../change/decision.ts'
import type { Conditions } from './etag.ts'
import { isFormType } from './form-body.ts'

/** The state of one request in the pipeline. */
export interface RequestContext {
  readonly route: Route<Kernel>
  readonly requestInfo: RequestInfo
  readonly requestId: string
  readonly conditions: Conditions | null
  principal: Principal
  resource: Resource | null // changed by this request
  decision: Decision | null // as recorded
  etag: string | null // of the record in the response
  claim: Claim | null
  isRefused: boolean // an error was sent, so a running change must not commit
}

/** The response to a request. */
export interface Outcome {
  readonly status: number
  readonly reason: string | null // the code of a refusal
  readonly body: string // JSON or text; may be empty
}

/** A request's claim to its Idempotency-Key, until the request ends. */
export interface Claim {
  readonly id: string
  readonly principal: string
  readonly bodyMac: string
  /** An earlier request with this key and its changed resource. Without an outcome, its response was lost. */
  readonly earlier:
    | { readonly resource: Resource | null; readonly outcome: Outcome }
    | { readonly resource: Resource; readonly outcome: null }
    | null
}

/** Runs `work` once the response is sent or the caller has disconnected. */
export function onceClosed(response: ServerResponse, work: () => void): void {
  if (response.closed) work()
  else response.once('close', work)
}

const none = Object.freeze({})
const anonymous: Principal = { userId: '', role: 'user', method: 'none' }

export const isRead = ({ requestInfo: { method } }: Pick<RequestContext, 'requestInfo'>): boolean =>
  method === 'GET' || method === 'HEAD'

/** Content type of a JSON merge patch (RFC 7396), the format of every PATCH. */
export const mergePatchType = 'application/merge-patch+json'

export const isJson = ({ method, contentType = '' }: Pick<RequestInfo, 'method' | 'contentType'>): boolean =>
  /^application\/json\s*(;|$)/i.test(contentType) ||
  (method === 'PATCH' && /^application\/merge-patch\+json\s*(;|$)/i.test(contentType))

/** True for a form body on a route that accepts forms. */
export const isForm = ({ route, requestInfo }: Pick<RequestContext, 'route' | 'requestInfo'>): boolean =>
  route.takesForm === true && isFormType(requestInfo.contentType)

export const pathOf = (url: string): string => url.split('?', 1)[0] ?? url

/** Returns undefined once the connection is closed. Converts IPv4-mapped addresses to IPv4. */
const plainAddress = (address: string | undefined): string =>
  (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

export function requestContextOf(
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
export function runTraced({ id, headers }: FastifyRequest, next: () => void): void {
  const traceId = traceIdOf(headers['traceparent'])
  currentRequestId.run(id, () => (traceId === null ? next() : currentTraceId.run(traceId, next)))
}

/** Logs traced requests. It passes both ids: a response can end outside its request's context. */
export function logTraced(
  log: Kernel['log'],
  { method, url, id, headers }: FastifyRequest,
  reply: FastifyReply
) {
  const traceId = traceIdOf(headers['traceparent'])
  if (traceId === null) return
  log.debug('request.traced', `${method} ${pathOf(url)}: ${reply.statusCode}`, {
    request_id: id,
    trace_id: traceId,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime)
  })
}
