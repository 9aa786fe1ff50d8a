import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { networkOf } from '../../../kernel/base/network.ts'
import type { RequestContext } from '../request/request-context.ts'

const maxInFlight = 256

/** Limits the requests in flight per principal; unauthenticated callers count by network. */
export interface ConcurrencyLimit {
  /** Throws `rate_limited` at the limit. */
  enter(context: RequestContext): void
  leave(context: RequestContext): void
}

export function openConcurrencyLimit(): ConcurrencyLimit {
  const inFlight = new Map<string, number>()
  const keys = new WeakMap<RequestContext, string>()

  function enter(context: RequestContext): void {
    const { userId, method } = context.principal
    const key = method === 'none' ? `address ${networkOf(context.requestInfo.remoteAddr)}` : userId
    const count = inFlight.get(key) ?? 0
    if (count >= maxInFlight)
      throw new Fault(rateLimited, `${maxInFlight} requests are in flight already; wait for one to end`)
    inFlight.set(key, count + 1)
    keys.set(context, key)
  }

  function leave(context: RequestContext): void {
    const key = keys.get(context)
    if (key === undefined) return
    keys.delete(context)
    const count = inFlight.get(key) ?? 1
    if (count > 1) inFlight.set(key, count - 1)
    else inFlight.delete(key)
  }

  return { enter, leave }
}
