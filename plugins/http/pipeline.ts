// The steps of every request, in the order in which README.md lists them.
import { finished } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { Route } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openConcurrencyLimit } from './concurrency-limit.ts'
import { openConstantReplies } from './constant-reply.ts'
import { openGuard } from './guard.ts'
import { openIdempotency } from './idempotency.ts'
import { isRead, type RequestContext, requestContextOf } from './request-context.ts'
import { openDecisions } from './request-decisions.ts'
import { openResponder } from './responder.ts'
import { routeHandler } from './route-handler.ts'
import { noSuchRoute, refuseMediaType } from './routing.ts'
import type { HttpOptions } from './settings.ts'
import type { SendSite } from './site.ts'
import { openStreams } from './streams.ts'
import { logTraced, runTraced } from './trace.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route<Kernel>
    plugin?: string // which has the route
    query?: TSchema // of the route itself
    errors?: ReadonlySet<string> // codes that the document lists for it, where its schema has `errors`
  }
  interface FastifyRequest {
    requestContext: RequestContext | null // null until a route is found
  }
}

/** Adds the steps to `app`. Returns the function that makes the handler of a route. */
export function openPipeline(app: FastifyInstance, options: HttpOptions, sendSite: SendSite) {
  const { httpMetrics, publicOrigin, log } = options
  const guard = openGuard(options)
  const concurrencyLimit = openConcurrencyLimit()
  const idempotency = openIdempotency(options)
  const decisions = openDecisions({ ...options, guard, idempotency })
  const responder = openResponder(options, decisions)
  const streams = openStreams(options, guard)
  const sendConstant = openConstantReplies()
  const routes: Route<Kernel>[] = []

  app.decorateRequest('requestContext', null)
  app.addHook('onRequest', (request, _, done) => runTraced(request, done))

  app.addHook('onRequest', async (request, reply) => {
    responder.setCommonHeaders(request, reply)
    const { route } = request.routeOptions.config
    if (!route) return sendSite(request, reply, () => noSuchRoute(request, routes)) // else 404, 405
    const context = requestContextOf(request, route, publicOrigin)
    request.requestContext = context
    await guard.authorize(context) // 503, 401, 403
    concurrencyLimit.enter(context) // 429
    refuseMediaType(context) // 415
  })

  // Fastify reads and parses the body here: 413, 400, 408

  app.addHook('preValidation', async (request, reply) => {
    const { requestContext: context, headers } = request
    if (!context || isRead(context)) return
    if (request.body === undefined) request.body = {}
    if (context.requestInfo.hasBody) await guard.authorize(context) // the body may have come much later: 401, 403
    const key = headers['idempotency-key']
    if (key !== undefined) context.claim = await idempotency.claim(context, String(key), request.body) // 400, 409, 422
    const earlier = context.claim?.earlier
    if (earlier) context.resource = earlier.resource
    if (earlier?.outcome) return responder.send(context, reply, earlier.outcome)
  })

  // Fastify validates body, query and path here (400), then calls the handler of the route: route-handler.ts

  app.setErrorHandler(responder.sendError)

  app.addHook('onSend', async ({ requestContext: context }, reply) => {
    if (!context) return
    finished(reply.raw, () => concurrencyLimit.leave(context)) // the caller has it all, or has left
    if (context.claim) idempotency.release(context.claim)
  })

  app.addHook('onResponse', async (request, reply) => {
    httpMetrics.countResponse(request, reply)
    logTraced(log, request, reply)
  })
  app.addHook('preClose', async () => streams.endAll())

  return (route: Route<Kernel>, deps: Kernel) => {
    routes.push(route)
    return routeHandler(route, deps, { decisions, responder, streams, sendConstant })
  }
}
