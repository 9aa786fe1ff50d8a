// Roles, and what each may do. Plugins ask these questions instead of comparing roles. Commands load this file, too.
import type { Principal, Role } from '../../kernel/http/principal.ts'
import type { RouteDefinition } from '../../kernel/http/route.ts'

/** From the fewest rights to the most. */
export const roles = ['user', 'viewer', 'operator', 'superadmin'] as const satisfies readonly Role[]

type Caller = Pick<Principal, 'role'>
type Called = Pick<RouteDefinition<never>, 'method' | 'access' | 'reads'>

/** True for a caller with this role or one with more rights. */
export const hasRole = ({ role }: Caller, least: Role): boolean => roles.indexOf(role) >= roles.indexOf(least)

/** True for callers who see what belongs to others: viewers, operators and superadmins. */
export const seesAll = (caller: Caller): boolean => hasRole(caller, 'viewer')

/** True for callers who manage clients, and the rules of everybody: operators and superadmins. */
export const managesAll = (caller: Caller): boolean => hasRole(caller, 'operator')

/** True for callers who manage users, their tokens and grants, and settings: superadmins. */
export const managesUsers = (caller: Caller): boolean => hasRole(caller, 'superadmin')

/** True if the role allows the call. The route still decides which objects the caller sees and changes. */
export function mayCall({ role, method }: Pick<Principal, 'role' | 'method'>, route: Called): boolean {
  const { access } = route
  if (access === 'public') return true
  if (role === 'viewer' && !isReading(route)) {
    const mayChangeSelf = method !== 'api_token' || route.method === 'DELETE' // a token may revoke itself
    return access === 'session' || (access === 'self' && mayChangeSelf)
  }
  return hasRole({ role }, access === 'self' || access === 'session' ? 'user' : access)
}

const isReading = ({ method, reads }: Called): boolean => method === 'GET' || reads === true

/** Names the callers of a route, for its documentation and for refusals. */
export function callersOf(route: Called): string {
  const { access } = route
  if (access === 'user' && !isReading(route)) return 'users, operators and superadmins'
  return callers[access]
}

const callers: Readonly<Record<Called['access'], string>> = {
  public: 'public, without a credential',
  self: 'every user, for their own account',
  session: 'every user with a web session, for their own account',
  user: 'every user, for what they may see',
  viewer: 'viewers, operators and superadmins',
  operator: 'operators and superadmins',
  superadmin: 'superadmins'
}
