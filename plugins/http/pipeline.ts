// The way of a request: admitted, its key looked up, run, written down, answered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attributionOf, withTimeout } from '../../kernel/base/attribution.ts'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { Listing } from '../../kernel/http/list-route.ts'
import type { Call, Route } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { envelope, faultOf, jsonType, sendFault, textType, toJson } from './envelope.ts'
import { methodNotAllowed, unsupportedMediaType } from './errors.ts'
import { openConcurrencyLimit, openGuard } from './guard.ts'
import type { HttpOptions } from './http.ts'
import { openIdempotency, spent } from './idempotency.ts'
import { pageOf } from './paging.ts'
import { openRecord } from './record.ts'
import {
  isJson,
  isRead,
  type Outcome,
  pathOf,
  type RequestContext,
  requestContextOf
} from './request-context.ts'
import { openStreams, streamOf } from './streams.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route<Kernel>
  }
  interface FastifyRequest {
    turn: RequestContext | null // null until a route is found
  }
}

const limitSecs = 60

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Puts the order of checks into the app; answers what makes a handler of a route. */
export function openPipeline(app: FastifyInstance, options: HttpOptions) {
  const { store, log, tally } = options
  const admit = openGuard(options)
  const turnstile = openConcurrencyLimit()
  const repeats = openIdempotency(options)
  const record = openRecord({ ...options, repeats })
  const streams = openStreams(options, admit)
  const routes: Route<Kernel>[] = []

  app.addHook('preClose', async () => streams.endAll())
  app.decorateRequest('turn', null)

  app.addHook('onRequest', (request, _, done) => currentRequestId.run(request.id, done))

  app.addHook('onRequest', async (request, reply) => {
    const { id } = request
    reply.headers({ 'x-request-id': id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    const { route } = request.routeOptions.config
    if (!route) throw astray(request, routes)
    const turn = requestContextOf(request, route, options.publicOrigin)
    request.turn = turn
    await admit(turn)
    turnstile.enter(turn)
    if (turn.requestInfo.hasBody && !isRead(turn) && !isJson(turn.requestInfo.contentType))
      throw new Fault(unsupportedMediaType, 'send the body as application/json')
  })

  app.addHook('preValidation', async (request, reply) => {
    const { turn, headers } = request
    if (!turn || isRead(turn)) return
    if (request.body === undefined) request.body = {}
    const key = headers['idempotency-key']
    if (key !== undefined) turn.claim = await repeats.claim(turn, String(key), request.body)
    if (!turn.claim?.past) return
    turn.resource = turn.claim.past.resource
    if (turn.claim.past.answer) return close(turn, reply, turn.claim.past.answer)
  })

  app.addHook('onSend', async ({ turn }) => {
    if (!turn) return
    turnstile.leave(turn)
    if (turn.claim) repeats.release(turn.claim)
  })

  app.addHook('onResponse', async (request, reply) => tally.answered(request, reply))

  app.setErrorHandler(async (error, request, reply) => {
    const fault = await written(request, faultOf(error, request.id))
    // `plugin`: whose route it is; who filled a slot of it with what failed is named beside.
    if (fault.errorCode.http === 500)
      log.error('request.failed', `${request.method} ${pathOf(request.url)} failed`, {
        request_id: request.id,
        plugin: request.routeOptions.schema?.tags?.[0],
        ...attributionOf(fault.cause),
        error: fault.cause instanceof Error ? fault.cause.stack : String(fault.cause)
      })
    return sendFault(reply, fault)
  })

  /** A refusal that cannot be written down is our failure. */
  async function written({ turn, id }: FastifyRequest, fault: Fault): Promise<Fault> {
    const { code: reason, http: status } = fault.errorCode
    if (turn) {
      turn.isRefused = true
      tally.refused(turn, fault.errorCode)
    }
    try {
      if (turn) await record.close(turn, { status, reason, answer: envelope(fault) })
      return fault
    } catch (cause) {
      return faultOf(cause, id)
    }
  }

  async function close(
    turn: RequestContext,
    reply: FastifyReply,
    outcome: Outcome,
    type = jsonType
  ): Promise<FastifyReply> {
    await record.close(turn, outcome)
    const { status, answer } = outcome
    return answer === '' ? reply.code(status).send() : reply.code(status).type(type).send(answer)
  }

  function callOf(
    turn: RequestContext,
    { body, query, params }: FastifyRequest,
    reply: FastifyReply,
    signal: AbortSignal
  ): Call {
    const { requestInfo, principal, requestId } = turn
    const shared = {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: requestInfo.ownOrigin.startsWith('https:')
    } as const
    const setCookie: Call['setCookie'] = (name, value, maxAgeSecs) =>
      void reply.setCookie(name, value, { ...shared, maxAge: maxAgeSecs === 'clear' ? 0 : maxAgeSecs })
    const change = record.changeOf(turn)
    return { body, query, params, principal, requestInfo, requestId, signal, change, setCookie }
  }

  return function handlerOf(route: Route<Kernel>, deps: Kernel): Handle {
    routes.push(route)
    return async (request, reply) => {
      const { turn } = request
      if (!turn) throw new TypeError(`${route.action} ran before its caller was admitted`)
      const disconnected = new AbortController()
      reply.raw.once('close', () => reply.raw.writableFinished || disconnected.abort())
      const call = callOf(turn, request, reply, disconnected.signal)
      if (route.isStream) return streams.begin(turn, reply, disconnected, () => streamOf(route, deps, call))
      const made = await withTimeout(limitSecs, route.action, () => run(deps, turn, call))
      if (route.reply === 'text')
        return close(turn, reply, { status: route.status, reason: null, answer: String(made) }, textType)
      const shown = route.isList ? await pageOf(made as Listing<unknown>, request, reply, store) : made
      const answer = route.status === 204 ? '' : toJson(shown)
      return close(turn, reply, { status: route.status, reason: null, answer })
    }
  }
}

/** What the route answers; after a change whose answer was lost, what is there now. */
async function run(deps: Kernel, { route, claim }: RequestContext, call: Call): Promise<unknown> {
  if (!claim?.past) return route.run(deps, call)
  const { resource } = claim.past
  if (route.replay) return route.replay(deps, call, resource.id)
  if (route.status === 204) return null
  throw spent(resource)
}

/** No such route, or a route but not by this method. */
function astray({ method, url }: FastifyRequest, routes: readonly Route<Kernel>[]): Fault {
  const path = pathOf(url)
  const methods = new Set(routes.filter(route => patternOf(route).test(path)).map(route => route.method))
  if (methods.size === 0) return new Fault(notFound, `there is no ${method} ${path}`)
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])]
  return new Fault(methodNotAllowed, `${path} takes ${allow.join(', ')}`, { details: { allow } })
}

const patternOf = ({ url }: Route<Kernel>): RegExp =>
  new RegExp(`^${url.replaceAll('.', '[.]').replaceAll(/:\w+/g, '[^/]*')}$`)
