import { withTimeout } from '../../kernel/base/attribution.ts'
import { Fault, rateLimited, roleRequired, unauthenticated } from '../../kernel/base/errors.ts'
import { type AuthenticatedCaller, authenticatorSlot, type RequestInfo } from '../../kernel/http/principal.ts'
import * as rows from './errors.ts'
import type { HttpOptions } from './http.ts'
import { isJson, isRead, type RequestContext } from './request-context.ts'

/** Lets a turn in and names its principal, or throws. Asks nothing of the body. */
export function openGuard({
  identity,
  filled
}: Pick<HttpOptions, 'identity' | 'filled'>): (turn: RequestContext) => Promise<void> {
  async function identify(requestInfo: RequestInfo): Promise<AuthenticatedCaller> {
    if (requestInfo.authorization !== undefined) return identity.authenticate(requestInfo.authorization)
    for (const { value: authenticate } of filled(authenticatorSlot)) {
      const known = await withTimeout(10, 'to tell who asks', () => authenticate(requestInfo))
      if (known) return known
    }
    throw new Fault(unauthenticated, 'no credential; send Authorization: Bearer TOKEN, or log in')
  }

  return async function admit(turn) {
    if (turn.route.access === 'public') return
    const isBootstrapped = await identity.isBootstrapped()
    const known = await identify(turn.requestInfo).catch((error: unknown) => {
      if (isBootstrapped || !(error instanceof Fault)) throw error
      return null
    })
    if (!known || !(isBootstrapped || known.principal.method === 'operator_token'))
      throw new Fault(rows.bootstrapRequired, 'there is no superadmin yet; finish the onboarding first')
    turn.principal = known.principal
    if (known.requires === 'csrf' && !isRead(turn)) refuseForgery(turn.requestInfo)
    refuseRestricted(turn, known)
  }
}

function refuseForgery({ originHeader, ownOrigin, csrfHeader, hasBody, contentType }: RequestInfo): void {
  if (originHeader === undefined)
    throw new Fault(rows.csrfOriginRequired, 'a write with a session cookie needs the header Origin')
  if (originHeader !== ownOrigin)
    throw new Fault(rows.csrfOriginMismatch, `Origin is ${originHeader}, this server is ${ownOrigin}`)
  if (csrfHeader !== '1')
    throw new Fault(rows.csrfHeaderRequired, 'a write with a session cookie needs the header X-Svc-CSRF: 1')
  if (hasBody && !isJson(contentType))
    throw new Fault(
      rows.csrfContentTypeRequired,
      'a write with a session cookie needs Content-Type: application/json'
    )
}

function refuseRestricted(
  { route, principal }: RequestContext,
  { allowedActions }: AuthenticatedCaller
): void {
  if (allowedActions && !allowedActions.includes(route.action))
    throw new Fault(rows.passwordChangeRequired, 'the temporary password must be changed first')
  if (route.access === 'superadmin' && principal.role !== 'superadmin')
    throw new Fault(roleRequired, 'only a superadmin may do this')
}

const maxInFlight = 256

/** At most so many requests at once a principal; who is not known counts by address. */
export function openConcurrencyLimit(): {
  enter(turn: RequestContext): void
  leave(turn: RequestContext): void
} {
  const inFlight = new Map<string, number>()
  const entered = new WeakMap<RequestContext, string>()
  return {
    enter(turn) {
      const { userId, method } = turn.principal
      const who = method === 'none' ? `address ${turn.requestInfo.remoteAddr}` : userId
      const count = inFlight.get(who) ?? 0
      if (count >= maxInFlight)
        throw new Fault(rateLimited, `${maxInFlight} requests are in flight already; wait for one to end`)
      inFlight.set(who, count + 1)
      entered.set(turn, who)
    },
    leave(turn) {
      const who = entered.get(turn)
      if (who === undefined) return
      entered.delete(turn)
      const count = inFlight.get(who) ?? 1
      if (count > 1) inFlight.set(who, count - 1)
      else inFlight.delete(who)
    }
  }
}
