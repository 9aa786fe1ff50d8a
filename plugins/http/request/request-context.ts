import type { ServerResponse } from 'node:http'
import type { Principal, RequestInfo } from '../../../kernel/http/principal.ts'
import type { Resource, Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Decision } from '../change/decision.ts'
import type { Conditions } from './etag.ts'
import { isFormType } from './form-body.ts'

/** Name of the cookie of a web session. */
export const sessionCookie = 'svc_session'

/** The state of one request in the pipeline. */
export interface RequestContext {
  readonly route: Route<Kernel>
  readonly requestInfo: RequestInfo
  readonly requestId: string
  readonly conditions: Conditions | null
  principal: Principal
  auditReason: string | null // of a refusal, where the caller must not learn it
  resource: Resource | null // changed by this request
  decision: Decision | null // as recorded
  etag: string | null // of the record in the response
  claim: Claim | null
  isTrial: boolean // it changes nothing
  isRefused: boolean // an error was sent, so a running change must not commit
  refusal: Decision | null // of a change that commits although the request is refused, perhaps by a page or redirect; made once, even if the change is retried
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

/** Runs `work` once the response is sent or the caller has disconnected. Returns a function that cancels it. */
export function onceClosed(response: ServerResponse, work: () => void): () => void {
  if (response.closed) work()
  else response.once('close', work)
  return () => void response.off('close', work)
}

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

export const healthPaths: ReadonlySet<string> = new Set(['/livez', '/readyz'])
