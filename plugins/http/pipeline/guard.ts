import type { EntityManager } from '@mikro-orm/sql'
import { attributed, withTimeout } from '../../../kernel/base/attribution.ts'
import {
  Fault,
  rateLimited,
  roleRequired,
  storeUnavailable,
  unauthenticated
} from '../../../kernel/base/errors.ts'
import {
  type AuthenticatedCaller,
  authenticatorSlot,
  type Principal,
  type RequestInfo
} from '../../../kernel/http/principal.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import * as codes from '../codes.ts'
import { isForm, isJson, isRead, type RequestContext } from '../request/request-context.ts'
import { callersOf, mayCall } from '../roles.ts'
import type { HttpOptions } from '../settings.ts'

/** Authenticates callers by their headers and checks their access to routes. */
export interface Guard {
  /** Sets `principal`. Throws if the caller has no access. */
  authorize(context: RequestContext): Promise<void>
  /** Runs `work` in the transaction of the change. Throws if the caller has lost access or changed role. */
  confirmed<T>(context: RequestContext, em: EntityManager, work: () => Promise<T>): Promise<T>
  /** Authorizes the caller of a stream again. Throws if access was lost or the role has changed. */
  recheck(context: RequestContext): Promise<void>
}

export function openGuard({
  store,
  identity,
  filled
}: Pick<HttpOptions, 'store' | 'identity' | 'filled'>): Guard {
  /** Inside a change, pass its `em`. A cached token costs no read. */
  async function authenticate(requestInfo: RequestInfo, em?: EntityManager): Promise<AuthenticatedCaller> {
    const { authorization } = requestInfo
    if (authorization !== undefined) return identity.authenticate(authorization, em)
    return em ? askAuthenticators(requestInfo, em) : store.read(em => askAuthenticators(requestInfo, em))
  }

  async function askAuthenticators(info: RequestInfo, em: EntityManager): Promise<AuthenticatedCaller> {
    for (const { by, value: authenticator } of filled(authenticatorSlot)) {
      const caller = await withTimeout(10, 'authentication', () => authenticator(info, em))
      if (caller) return admittedBy(requireOwnMethod(caller, by), by)
    }
    throw new Fault(unauthenticated, 'no credential; send Authorization: Bearer TOKEN, or log in')
  }

  async function authorize(context: RequestContext): Promise<void> {
    if (context.route.access === 'public') return
    const isBootstrapped = await identity.isBootstrapped()
    const caller = await authenticate(context.requestInfo).catch((error: unknown) => {
      if (isBootstrapped || !(error instanceof Fault)) throw error
      return null
    })
    if (!caller || !(isBootstrapped || caller.principal.method === 'operator_token'))
      throw new Fault(codes.bootstrapRequired, 'there is no superadmin yet; finish the onboarding first')
    await caller.touch?.().catch(ignoreUnavailable)
    context.principal = caller.principal
    if (caller.requires === 'csrf' && !isRead(context)) refuseForgery(context)
    await caller.admit?.()
    refuseAccess(context, caller)
  }

  async function confirmed<T>(context: RequestContext, em: EntityManager, work: () => Promise<T>) {
    const confirming = confirm(context, em)
    if (context.requestInfo.authorization === undefined) await confirming
    return madeFor(confirming, work()) // both start at once: the token costs one query
  }

  async function confirm(context: RequestContext, em: EntityManager): Promise<void> {
    if (context.route.access === 'public') return
    const caller = await authenticate(context.requestInfo, em)
    if (caller.admit) throw new Fault(unauthenticated, 'the user has been deleted')
    refuseAccess({ ...context, principal: caller.principal }, caller)
    refuseOtherRole(context.principal, caller.principal)
  }

  async function recheck(context: RequestContext): Promise<void> {
    const { principal } = context
    await authorize(context)
    refuseOtherRole(principal, context.principal)
  }

  return { authorize, confirmed, recheck }
}

/** Waits for both. A refusal of the caller takes precedence, and rolls back the change. */
async function madeFor<T>(confirming: Promise<void>, making: Promise<T>): Promise<T> {
  const [caller, made] = await Promise.allSettled([confirming, making])
  if (caller.status === 'rejected') throw caller.reason
  if (made.status === 'rejected') throw made.reason
  return made.value
}

/** Attributes failures of `admit` to the authenticator. */
function admittedBy(caller: AuthenticatedCaller, plugin: string): AuthenticatedCaller {
  if (!caller.admit) return caller
  const by = { slot: authenticatorSlot.id, filled_by: plugin }
  return { ...caller, admit: () => attributed(by, async () => caller.admit?.()) }
}

/** Methods of the kernel, which plugins must not use: no plugin can claim that a token was presented. */
const kernelMethods = new Set<string>([
  'operator_token',
  'api_token',
  'system',
  'none'
] satisfies Principal['method'][])

function requireOwnMethod(caller: AuthenticatedCaller, plugin: string): AuthenticatedCaller {
  const { method } = caller.principal
  if (/^[a-z][a-z0-9_]{0,15}$/.test(method) && !kernelMethods.has(method)) return caller
  throw new TypeError(`the authenticator of ${plugin} gave the method ${JSON.stringify(method.slice(0, 40))}`)
}

/** Ignores an unavailable store, so that reads still work on a full disk. A later request stores the last use. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof Fault && error.errorCode === storeUnavailable)) throw error
}

function refuseOtherRole(before: Principal, { role }: Principal): void {
  if (role !== before.role)
    throw new Fault(roleRequired, `your role was changed to ${role} meanwhile; send the request again`)
}

/** Forms cannot send the CSRF header, so the browser's Origin must match. */
function refuseForgery(context: RequestContext): void {
  const { originHeader, ownOrigin, csrfHeader, hasBody } = context.requestInfo
  if (originHeader === undefined)
    throw new Fault(codes.csrfOriginRequired, 'a write with a session cookie needs the header Origin')
  if (originHeader !== ownOrigin)
    throw new Fault(codes.csrfOriginMismatch, `Origin is ${originHeader}, this server is ${ownOrigin}`)
  if (isForm(context)) return
  if (csrfHeader !== '1')
    throw new Fault(codes.csrfHeaderRequired, 'a write with a session cookie needs the header X-Svc-CSRF: 1')
  if (hasBody && !isJson(context.requestInfo))
    throw new Fault(
      codes.csrfContentTypeRequired,
      'a write with a session cookie needs Content-Type: application/json'
    )
}

function refuseAccess({ route, principal }: RequestContext, { allowedActions }: AuthenticatedCaller): void {
  if (allowedActions && !allowedActions.includes(route.action))
    throw new Fault(codes.passwordChangeRequired, 'the temporary password must be changed first')
  if (!mayCall(principal, route)) throw new Fault(roleRequired, refusalOf(principal, route))
}

const refusalOf = ({ role }: Principal, route: RequestContext['route']): string =>
  route.access === 'self'
    ? `a token of a ${role} only reads; sign in to change your account`
    : `your role is ${role}; only ${callersOf(route)} may do this`

/** Returns the key under which the work of an unauthenticated caller is counted: its address, or the /64 of IPv6. */
export const networkPayer = (address: string): string => `address ${networkOf(address)}`

/** Returns the key under which the work of a request is counted: that of its user, or of its address without one. */
export const payerOf = ({ principal: { userId, method }, requestInfo }: RequestContext): string =>
  method === 'none' ? networkPayer(requestInfo.remoteAddr) : `user ${userId}`

const maxInFlight = 256

/** Limits the requests in flight per principal; unauthenticated callers count by network. */
interface ConcurrencyLimit {
  /** Throws `rate_limited` at the limit. */
  enter(context: RequestContext): void
  leave(context: RequestContext): void
}

export function openConcurrencyLimit(): ConcurrencyLimit {
  const inFlight = new Map<string, number>()
  const keys = new WeakMap<RequestContext, string>()

  function enter(context: RequestContext): void {
    const key = payerOf(context)
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
