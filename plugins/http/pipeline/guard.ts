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
import type { Token } from '../../../kernel/identity/entities.ts'
import * as codes from '../codes.ts'
import { isForm, isJson, isRead, type RequestContext } from '../request/request-context.ts'
import { callersOf, mayCall } from '../roles.ts'
import { requireScope, scopesOf } from '../scopes.ts'
import type { HttpOptions } from '../settings.ts'
import { networkPayer } from './fair-turns.ts'
import { openTokenUse, type TokenUse } from './token-use.ts'

/** Authenticates callers by their headers and checks their access to routes. */
export interface Guard extends Pick<TokenUse, 'isAllowed'> {
  /** Sets `principal`. Throws if the caller has no access. */
  authorize(context: RequestContext): Promise<void>
  /** Runs `work` in the transaction of the change. Throws if the caller has lost access or changed role. */
  confirmed<T>(context: RequestContext, em: EntityManager, work: () => Promise<T>): Promise<T>
  /** Authorizes the caller of a stream again. Throws if access was lost or the role has changed. */
  recheck(context: RequestContext): Promise<void>
}

/** The audit log shows it for a token that is used from elsewhere. The caller learns only that it is not valid. */
const sourceNotAllowed = 'source_not_allowed'

type GuardOptions = Pick<HttpOptions, 'store' | 'identity' | 'clock' | 'filled'>

export function openGuard({ store, identity, clock, filled }: GuardOptions): Guard {
  const tokenUse = openTokenUse({ store, clock })

  /** Inside a change, pass its `em`. A cached token costs no read. */
  async function authenticate(context: RequestContext, em?: EntityManager): Promise<AuthenticatedCaller> {
    const { requestInfo } = context
    const { authorization } = requestInfo
    if (authorization !== undefined)
      return identity.authenticate(authorization, token => judgeSource(token, context, tokenUse), em)
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
    const caller = await authenticate(context).catch((error: unknown) => {
      if (isBootstrapped || !(error instanceof Fault)) throw error
      return null
    })
    if (!caller || !(isBootstrapped || caller.principal.method === 'operator_token'))
      throw new Fault(codes.bootstrapRequired, 'there is no superadmin yet; finish the onboarding first')
    await recordUse(caller, context, tokenUse).catch(ignoreUnavailable)
    context.principal = caller.principal
    if (caller.requires === 'csrf' && !isRead(context)) refuseForgery(context)
    await caller.admit?.()
    refuseAccess(context, caller, clock.steady())
  }

  async function confirmed<T>(context: RequestContext, em: EntityManager, work: () => Promise<T>) {
    const confirming = confirm(context, em)
    if (context.requestInfo.authorization === undefined) await confirming
    return madeFor(confirming, work()) // both start at once: the token costs one query
  }

  async function confirm(context: RequestContext, em: EntityManager): Promise<void> {
    if (context.route.access === 'public') return
    const caller = await authenticate(context, em)
    if (caller.admit) throw new Fault(unauthenticated, 'the user has been deleted')
    refuseAccess({ ...context, principal: caller.principal }, caller, clock.steady())
    refuseOtherRole(context.principal, caller.principal)
  }

  async function recheck(context: RequestContext): Promise<void> {
    const { principal } = context
    await authorize(context)
    refuseOtherRole(principal, context.principal)
  }

  return { authorize, confirmed, recheck, isAllowed: tokenUse.isAllowed }
}

function judgeSource(token: Token, context: RequestContext, tokenUse: TokenUse): boolean {
  if (tokenUse.isAllowed(token, context.requestInfo.remoteAddr)) return true
  context.auditReason = sourceNotAllowed
  context.resource = { kind: 'credential', id: token.id }
  return false
}

async function recordUse(
  caller: AuthenticatedCaller,
  { requestInfo }: RequestContext,
  tokenUse: TokenUse
): Promise<void> {
  const { token } = caller.principal
  await (token ? tokenUse.record(token, requestInfo.remoteAddr) : caller.touch?.())
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

/** Throws unless a page of this origin has sent the request, by its header Origin. */
export function refuseOtherOrigin({ originHeader, ownOrigin }: RequestInfo): void {
  if (originHeader === undefined)
    throw new Fault(codes.csrfOriginRequired, 'a write with a session cookie needs the header Origin')
  if (originHeader !== ownOrigin)
    throw new Fault(codes.csrfOriginMismatch, `Origin is ${originHeader}, this server is ${ownOrigin}`)
}

/** Forms cannot send the CSRF header, so the browser's Origin must match. */
function refuseForgery(context: RequestContext): void {
  refuseOtherOrigin(context.requestInfo)
  if (isForm(context)) return
  refuseWithoutCsrfHeader(context.requestInfo)
}

/** Throws unless the request has the header X-Svc-CSRF, and a body only as JSON: pages of other origins cannot send it. */
export function refuseWithoutCsrfHeader(requestInfo: RequestInfo): void {
  const { csrfHeader, hasBody } = requestInfo
  if (csrfHeader !== '1')
    throw new Fault(codes.csrfHeaderRequired, 'a write with a session cookie needs the header X-Svc-CSRF: 1')
  if (hasBody && !isJson(requestInfo))
    throw new Fault(
      codes.csrfContentTypeRequired,
      'a write with a session cookie needs Content-Type: application/json'
    )
}

/** Refuses in the order of README.md: what the session lacks first, then what the user may not do. */
function refuseAccess(
  { route, principal }: RequestContext,
  { allowedActions, enrollmentActions, freshUntil = Infinity }: AuthenticatedCaller,
  now: number
): void {
  if (allowedActions && !allowedActions.includes(route.action))
    throw new Fault(codes.passwordChangeRequired, 'the temporary password must be changed first')
  if (enrollmentActions && !enrollmentActions.includes(route.action))
    throw new Fault(
      codes.enrollmentRequired,
      'this needs a second factor: set one up, or confirm with it, on the account page of the console'
    )
  if (!mayCall(principal, route)) throw new Fault(roleRequired, refusalOf(principal, route))
  if (route.access === 'session' && isBearer(principal))
    throw new Fault(codes.sessionRequired, 'this needs a web session: sign in; a token cannot do it')
  requireScope(principal, () => scopesOf(route))
  if (route.needsFresh && now >= freshUntil) throw reauthenticationFault()
}

export const reauthenticationFault = (): Fault =>
  new Fault(
    codes.reauthenticationRequired,
    'confirm with your password or second factor first: POST /v1/auth/reauthenticate'
  )

const isBearer = ({ method }: Principal): boolean => method === 'api_token' || method === 'operator_token'

const refusalOf = ({ role }: Principal, route: RequestContext['route']): string =>
  route.access === 'self'
    ? `a token of a ${role} only reads; sign in to change your account`
    : `your role is ${role}; only ${callersOf(route)} may do this`

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
