import { withTimeout } from '../../kernel/base/attribution.ts'
import { Fault, roleRequired, unauthenticated } from '../../kernel/base/errors.ts'
import { type AuthenticatedCaller, authenticatorSlot, type RequestInfo } from '../../kernel/http/principal.ts'
import * as codes from './codes.ts'
import { isJson, isRead, type RequestContext } from './request-context.ts'
import type { HttpOptions } from './settings.ts'

export type Authorize = (context: RequestContext) => Promise<void>

/** Authenticates the caller and checks its access to the route, from the headers alone. Sets `principal`. */
export function openGuard({ identity, filled }: Pick<HttpOptions, 'identity' | 'filled'>): Authorize {
  async function authenticate(requestInfo: RequestInfo): Promise<AuthenticatedCaller> {
    if (requestInfo.authorization !== undefined) return identity.authenticate(requestInfo.authorization)
    for (const { value: authenticator } of filled(authenticatorSlot)) {
      const caller = await withTimeout(10, 'authentication', () => authenticator(requestInfo))
      if (caller) return caller
    }
    throw new Fault(unauthenticated, 'no credential; send Authorization: Bearer TOKEN, or log in')
  }

  return async function authorize(context) {
    if (context.route.access === 'public') return
    const isBootstrapped = await identity.isBootstrapped()
    const caller = await authenticate(context.requestInfo).catch((error: unknown) => {
      if (isBootstrapped || !(error instanceof Fault)) throw error
      return null
    })
    if (!caller || !(isBootstrapped || caller.principal.method === 'operator_token'))
      throw new Fault(codes.bootstrapRequired, 'there is no superadmin yet; finish the onboarding first')
    context.principal = caller.principal
    if (caller.requires === 'csrf' && !isRead(context)) refuseForgery(context.requestInfo)
    refuseAccess(context, caller)
  }
}

function refuseForgery({ originHeader, ownOrigin, csrfHeader, hasBody, contentType }: RequestInfo): void {
  if (originHeader === undefined)
    throw new Fault(codes.csrfOriginRequired, 'a write with a session cookie needs the header Origin')
  if (originHeader !== ownOrigin)
    throw new Fault(codes.csrfOriginMismatch, `Origin is ${originHeader}, this server is ${ownOrigin}`)
  if (csrfHeader !== '1')
    throw new Fault(codes.csrfHeaderRequired, 'a write with a session cookie needs the header X-Svc-CSRF: 1')
  if (hasBody && !isJson(contentType))
    throw new Fault(
      codes.csrfContentTypeRequired,
      'a write with a session cookie needs Content-Type: application/json'
    )
}

function refuseAccess({ route, principal }: RequestContext, { allowedActions }: AuthenticatedCaller): void {
  if (allowedActions && !allowedActions.includes(route.action))
    throw new Fault(codes.passwordChangeRequired, 'the temporary password must be changed first')
  if (route.access === 'superadmin' && principal.role !== 'superadmin')
    throw new Fault(roleRequired, 'only a superadmin may do this')
}
