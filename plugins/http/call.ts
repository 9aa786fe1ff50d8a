import type { FastifyReply, FastifyRequest } from 'fastify'
import { withTimeout } from '../../kernel/base/attribution.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { secretSpent } from './idempotency-store.ts'
import type { RequestContext } from './request-context.ts'

const timeoutSecs = 60

/** Returns what a route gets to see of its request. */
export function callOf(
  { requestInfo, principal, requestId }: RequestContext,
  { body, query, params }: FastifyRequest,
  reply: FastifyReply,
  { signal, change }: Pick<Call, 'signal' | 'change'>
): Call {
  const secure = requestInfo.ownOrigin.startsWith('https:')
  const cookieOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  const setCookie: Call['setCookie'] = (name, value, maxAgeSecs) =>
    void reply.setCookie(name, value, { ...cookieOptions, maxAge: maxAgeSecs === 'clear' ? 0 : maxAgeSecs })
  return { body, query, params, principal, requestInfo, requestId, signal, change, setCookie }
}

/** Runs the route. If an earlier request with the same key made the change, returns the present state instead. */
export const runRoute = (deps: Kernel, { route, claim }: RequestContext, call: Call): Promise<unknown> =>
  withTimeout(timeoutSecs, route.action, async () => {
    if (!claim?.earlier) return route.run(deps, call)
    const { resource } = claim.earlier
    if (route.replay) return route.replay(deps, call, resource.id)
    if (route.status === 204) return null
    throw secretSpent(resource)
  })
