import type { FastifyRequest } from 'fastify'
import type { Decision, Principal, RequestInfo } from '../../kernel/http/principal.ts'
import type { Resource, Route } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Claim } from './idempotency.ts'

/** One request on its way through the host, and what is known of it so far. */
export interface RequestContext {
  readonly route: Route<Kernel>
  readonly requestInfo: RequestInfo
  readonly requestId: string
  principal: Principal
  resource: Resource | null // what it has changed
  decision: Decision | null // as it was written down
  claim: Claim | null // on its Idempotency-Key
  isRefused: boolean // what it still does counts no more
}

/** How a turn ended. */
export interface Outcome {
  readonly status: number
  readonly reason: string | null // the code of a refusal
  readonly answer: string // JSON, or nothing
}

export const nobody: Principal = { userId: '', role: 'user', method: 'none' }

export const isRead = ({ requestInfo: { method } }: Pick<RequestContext, 'requestInfo'>): boolean =>
  method === 'GET' || method === 'HEAD'

export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json\s*(;|$)/i.test(contentType ?? '')

export const pathOf = (url: string): string => url.split('?', 1)[0] ?? url

export function requestContextOf(
  request: FastifyRequest,
  route: Route<Kernel>,
  publicOrigin: string | null
): RequestContext {
  const { id, method, url, headers, cookies } = request
  const requestInfo: RequestInfo = {
    method,
    path: pathOf(url),
    authorization: headers.authorization,
    cookies,
    originHeader: headers.origin,
    ownOrigin: publicOrigin ?? `${request.protocol}://${headers.host ?? ''}`,
    csrfHeader: headers['x-svc-csrf']?.toString(),
    contentType: headers['content-type'],
    hasBody: headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
    remoteAddr: (request.ip ?? '').replace(/^::ffff:(?=\d+\.)/i, '') // no address: the caller has gone
  }
  return {
    route,
    requestInfo,
    requestId: id,
    principal: nobody,
    resource: null,
    decision: null,
    claim: null,
    isRefused: false
  }
}
