import type { ServerResponse } from 'node:http'
import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { runAs, withTimeout } from '../../../kernel/base/attribution.ts'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Call, Resource, Route, Work } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { decisionAbout, type NamedResource } from '../change/decision.ts'
import { etagAfter, etagOf, requireMatch } from '../request/etag.ts'
import { onceClosed, type RequestContext } from '../request/request-context.ts'
import { requireDecodable } from '../request/request-validator.ts'
import { requireScope, requireScopeOf, scopeOf } from '../scopes.ts'
import type { SendConstant } from '../server/constant-reply.ts'
import type { HttpOptions } from '../settings.ts'
import { eventsOf, type Streams } from '../streams/streams.ts'
import type { FairTurns } from './fair-turns.ts'
import { type Guard, payerOf } from './guard.ts'
import { type Idempotency, secretSpent } from './idempotency.ts'
import type { Responder } from './responder.ts'

const timeoutSecs = 90 // routes wait for agents for at most 60 s

interface Services extends Pick<HttpOptions, 'store' | 'clock' | 'recorder'> {
  readonly turns: Pick<FairTurns, 'meter' | 'take'>
  readonly guard: Pick<Guard, 'confirmed'>
  readonly idempotency: Pick<Idempotency, 'recordChange'>
  readonly responder: Responder
  readonly streams: Streams
  readonly sendConstant: SendConstant
}

type Mounted = Readonly<{ route: Route<Kernel>; deps: Kernel; plugin: string }>

/** Returns the Fastify handler of a route. */
export const routeHandler =
  ({ route, deps, plugin }: Mounted, services: Services) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { responder, streams, sendConstant } = services
    const { requestContext: context } = request
    if (!context) throw new TypeError(`${route.action} has a handler but no request context`)
    requireDecodable(request.url) // 400
    const call = new RouteCall(request, reply, context, openChange(context, reply.raw, services))
    const isTrial = route.isTrial?.(call)
    context.isTrial = route.reads === true || (isTrial ?? false)
    if (isTrial !== undefined) requireScopeOf(call.principal, route, { isTrial }) // 403
    if (route.isStream)
      return runAs(plugin, () => streams.open(context, reply, call.ended, () => eventsOf(route, deps, call)))
    const record = route.record?.(request.params, deps.filled)
    if (record) context.etag = (await deps.store.read(em => etagOf(record, em))) ?? null // read first, so that it is never newer than the reply
    const run = () =>
      withTimeout(timeoutSecs, route.action, () => runAs(plugin, () => runRoute(deps, context, call))).catch(
        (error: unknown) => {
          responder.reportUndeclared(request, error)
          throw error
        }
      )
    if (route.reply === 'constant') return sendConstant(route, run, request, reply)
    return responder.sendResult(await run(), context, request, reply)
  }

/**
 * Returns `change` of a call. It checks the caller, runs the work and writes the records in one transaction. The caller
 * pays for the CPU time; each change after the first waits for its turn.
 */
function openChange(
  context: RequestContext,
  response: ServerResponse,
  { store, clock, recorder, guard, idempotency, turns }: Services
): Call['change'] {
  async function make<T>(of: Resource | ((made: T) => Resource), work: Work<T>, em: EntityManager) {
    const { conditions } = context
    if (context.route.reads) requireScope(context.principal, () => [scopeOf(context.route.action, 'write')])
    const [before, result] = await guard.confirmed(context, em, async () => [
      conditions && typeof of === 'object' ? await etagOf(of, em) : undefined,
      await work(em)
    ])
    if (context.isRefused) throw new Error('the change was too late: an error response was already sent')
    const { decision: earlier, claim, route } = context
    if (earlier) return { result }
    if (conditions) requireMatch(conditions, before) // after the refusals of `work`: 404, 403
    const resource: NamedResource = typeof of === 'function' ? of(result) : of
    const { refusal } = resource
    const status = refusal?.http ?? (route.outcome === 'deferred' ? null : route.status)
    const reason = refusal?.code ?? null
    const about = { action: route.action, resource, status, reason, timestamp: clock.now() }
    const made = refusedBefore(context, refusal) ?? decisionAbout(context, about)
    if (refusal) context.refusal = made
    const [decision, etag] = await Promise.all([
      recorder.write(made, em),
      route.status === 204 ? null : etagAfter(resource, result, em),
      claim && idempotency.recordChange(claim, resource, em)
    ])
    return { result, resource, decision, etag: etag || null }
  }

  let isFirst = true
  const change: Call['change'] = async (of, work) => {
    if (!isFirst) await turns.take(payerOf(context), response, { what: 'change' })
    isFirst = false
    const { result, ...recorded } = await store.change(em => {
      const charge = turns.meter(payerOf(context))
      return make(of, work, em).finally(charge)
    })
    Object.assign(context, recorded) // after the commit
    return result
  }
  return change // named: kit/repeated-changes.ts finds it in the stack
}

/** Returns the decision of an earlier run of the change: the audit log counts each refusal once. */
const refusedBefore = ({ refusal }: RequestContext, code: ErrorCode | undefined) =>
  code && refusal?.reason === code.code ? refusal : null

/** A class, because V8 gives object literals with getters unshared shapes, which retain the request until a major GC. */
class RouteCall implements Call {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
  readonly principal: Call['principal']
  readonly requestInfo: Call['requestInfo']
  readonly requestId: string
  readonly change: Call['change']
  readonly setCookie: Call['setCookie']
  readonly #route: Route<Kernel>
  readonly #response: ServerResponse
  #ended: AbortController | null = null

  constructor(
    { body, query, params }: FastifyRequest,
    reply: FastifyReply,
    { route, principal, requestInfo, requestId }: RequestContext,
    change: Call['change']
  ) {
    this.body = body
    this.query = query
    this.params = params
    this.principal = principal
    this.requestInfo = requestInfo
    this.requestId = requestId
    this.change = change
    this.setCookie = cookieSetter(reply, requestInfo.ownOrigin.startsWith('https:'))
    this.#route = route
    this.#response = reply.raw
  }

  get signal(): AbortSignal {
    return this.ended.signal
  }

  get ended(): AbortController {
    this.#ended ??= endOf(this.#response, this.#route) // few routes use it
    return this.#ended
  }
}

/** Aborts when the caller disconnects early. For streams it always aborts: a HEAD ends with the headers. */
function endOf(response: ServerResponse, { isStream }: Route<Kernel>): AbortController {
  const ended = new AbortController()
  onceClosed(response, () => {
    if (isStream || !response.writableFinished) ended.abort()
  })
  return ended
}

/** Runs the route. If an earlier request with the same key made the change, returns the current state instead. */
async function runRoute(deps: Kernel, { route, claim }: RequestContext, call: Call): Promise<unknown> {
  const resource = claim?.earlier?.resource
  if (!resource) return route.run(deps, call)
  if (route.replay) return route.replay(deps, call, resource.id)
  if (route.status === 204) return null
  throw secretSpent(resource)
}

function cookieSetter(reply: FastifyReply, secure: boolean): Call['setCookie'] {
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  return (name, value, maxAgeSecs) =>
    void reply.setCookie(name, value, { ...options, maxAge: maxAgeSecs === 'clear' ? 0 : maxAgeSecs })
}
