// The way of a request: admitted, its key looked up, run, written down, answered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { Fault, methodNotAllowed, notFound, unsupportedMediaType } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Identity } from '../identity/identity.ts'
import type { Kernel } from '../plugin.ts'
import type { FilledBy } from '../slot.ts'
import type { Database } from '../store/open.ts'
import { envelope, faultOf, sendFault, toJson } from './envelope.ts'
import { openGuard, openTurnstile } from './guard.ts'
import type { Listing } from './listing.ts'
import { nextLink, type PageQuery, pageOf } from './paging.ts'
import { openRecord } from './record.ts'
import { openRepeats, spent } from './repeats.ts'
import type { Call, Route } from './route.ts'
import { isJson, isRead, type Outcome, pathOf, type Turn, turnOf } from './turn.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route<Kernel>
  }
  interface FastifyRequest {
    turn: Turn | null
  }
}

interface Options {
  readonly publicOrigin: string | null
  readonly store: Pick<Database, 'read' | 'change'>
  readonly identity: Identity
  readonly clock: Clock
  readonly log: Log
  readonly filled: FilledBy
}

/** Makes what Fastify calls for a route. */
export type Exchange = (route: Route<Kernel>, deps: Kernel) => Handle

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Puts the order of checks into the app; answers what runs a route at its end. */
export function openExchange(app: FastifyInstance, options: Options): Exchange {
  const { store, log } = options
  const admit = openGuard(options)
  const turnstile = openTurnstile()
  const repeats = openRepeats(options)
  const record = openRecord({ ...options, repeats })
  const routes: Route<Kernel>[] = []

  app.decorateRequest('turn', null)

  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'x-request-id': request.id,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff'
    })
    const { route } = request.routeOptions.config
    if (!route) throw astray(request, routes)
    const turn = turnOf(request, route, options.publicOrigin)
    request.turn = turn
    await admit(turn)
    turnstile.enter(turn)
    if (turn.visit.hasBody && !isRead(turn) && !isJson(turn.visit.contentType))
      throw new Fault(unsupportedMediaType, 'send the body as application/json')
  })

  app.addHook('preValidation', async (request, reply) => {
    const { turn, headers } = request
    if (!turn || isRead(turn)) return
    if (request.body === undefined) request.body = {}
    const key = headers['idempotency-key']
    if (key === undefined) return
    turn.claim = await repeats.claim(turn, String(key), request.body)
    if (!turn.claim?.past) return
    const { resource, answer } = turn.claim.past
    turn.resource = resource
    if (answer) return close(turn, reply, answer)
  })

  app.addHook('onSend', async ({ turn }) => {
    if (!turn) return
    turnstile.leave(turn)
    if (turn.claim) repeats.release(turn.claim)
  })

  app.setErrorHandler(async (error, request, reply) => {
    const fault = await written(request, faultOf(error, request.id))
    if (fault.row.http === 500)
      log.error('request.failed', `${request.method} ${pathOf(request.url)} failed`, {
        request_id: request.id,
        error: fault.cause instanceof Error ? fault.cause.stack : String(fault.cause)
      })
    return sendFault(reply, fault)
  })

  app.setNotFoundHandler(request => {
    throw astray(request, routes)
  })

  /** A refusal that cannot be written down is our failure. */
  async function written({ turn, id }: FastifyRequest, fault: Fault): Promise<Fault> {
    if (!turn) return fault
    const { code, http } = fault.row
    try {
      await record.close(turn, { status: http, reason: code, answer: envelope(fault) })
      return fault
    } catch (cause) {
      return faultOf(cause, id)
    }
  }

  async function close(turn: Turn, reply: FastifyReply, outcome: Outcome): Promise<FastifyReply> {
    await record.close(turn, outcome)
    const { status, answer } = outcome
    if (answer !== '') reply.type('application/json; charset=utf-8')
    return reply.code(status).send(answer === '' ? undefined : answer)
  }

  /** What the route answers; after a change whose answer was lost, what is there now. */
  async function made(route: Route<Kernel>, deps: Kernel, call: Call, turn: Turn): Promise<unknown> {
    const past = turn.claim?.past
    if (!past) return route.run(deps, call)
    if (route.again) return route.again(deps, call, past.resource.id)
    if (route.status === 204) return undefined
    throw spent(past.resource)
  }

  async function page(listing: Listing<unknown>, request: FastifyRequest, reply: FastifyReply) {
    const { rows, next } = await pageOf(listing, request.query as PageQuery, store)
    if (next !== null) reply.header('link', nextLink(request.url, next))
    return rows
  }

  return (route, deps) => {
    routes.push(route)
    return async (request, reply) => {
      const turn = turnIn(request)
      const result = await made(route, deps, callOf(request, reply), turn)
      const shown = route.isList ? await page(result as Listing<unknown>, request, reply) : result
      const answer = route.status === 204 ? '' : toJson(shown)
      return close(turn, reply, { status: route.status, reason: null, answer })
    }
  }

  function callOf(request: FastifyRequest, reply: FastifyReply): Call {
    const turn = turnIn(request)
    const { visit, principal, requestId } = turn
    const gone = new AbortController()
    reply.raw.once('close', () => !reply.raw.writableFinished && gone.abort())
    return {
      body: request.body,
      query: request.query,
      params: request.params,
      principal,
      visit,
      requestId,
      gone: gone.signal,
      change: record.changeOf(turn),
      setCookie(name, value, maxAgeSecs) {
        const secure = visit.ownOrigin.startsWith('https:')
        const maxAge = maxAgeSecs === 'clear' ? 0 : maxAgeSecs
        reply.setCookie(name, value, { path: '/', httpOnly: true, sameSite: 'lax', secure, maxAge })
      }
    }
  }
}

function turnIn({ turn }: FastifyRequest): Turn {
  if (!turn) throw new TypeError('a route ran before it was admitted')
  return turn
}

/** No such route, or a route but not by this method. */
function astray({ method, url }: FastifyRequest, routes: readonly Route<Kernel>[]): Fault {
  const path = pathOf(url)
  const methods = routes.filter(route => patternOf(route.url).test(path)).map(route => route.method)
  if (methods.length === 0) return new Fault(notFound, `there is no ${method} ${path}`)
  const allow = [...new Set(methods.flatMap(method => (method === 'GET' ? [method, 'HEAD'] : [method])))]
  return new Fault(methodNotAllowed, `${path} takes ${allow.join(', ')}`, { details: { allow } })
}

const patternOf = (url: string): RegExp =>
  new RegExp(`^${url.replaceAll('.', '[.]').replaceAll(/:\w+/g, '[^/]*')}$`)
