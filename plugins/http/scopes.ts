// Scopes of tokens. A role says what a user may do, a scope what a token may do of it. The scope of a route follows from
// its action: `rule.create` needs `rule:write`.
import { Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { RouteDefinition } from '../../kernel/http/route.ts'
import { scopeRequired } from './codes.ts'

type Called = Pick<
  RouteDefinition<never>,
  'method' | 'action' | 'access' | 'reads' | 'isTrial' | 'needsScope'
>
type Right = 'read' | 'write'

/** The scopes of a token that may do everything. */
export const allScopes = ['*:read', '*:write'] as const

/** Returns the scopes as a credential stores them; null: all. */
export const scopesIn = (text: string | null | undefined): readonly string[] | null =>
  text?.split(' ').filter(scope => scope !== '') ?? null

/** True if one of the held scopes is `scope`, or is for all areas. `held` null: all scopes. */
export const hasScope = (held: readonly string[] | null, scope: string): boolean =>
  held === null || held.includes(scope) || held.includes(`*${scope.slice(scope.indexOf(':'))}`)

export const scopeOf = (action: string, right: Right): string => `${action.split('.', 1)[0]}:${right}`

/** Returns the scopes that the route needs; none: every token may call it. With two, the request decides between them. */
export function scopesOf({ method, action, access, reads, isTrial, needsScope }: Called): readonly string[] {
  if (access === 'public' || access === 'session' || needsScope === false) return []
  const read = scopeOf(action, 'read')
  if (method === 'GET') return [read]
  const write = scopeOf(action, 'write')
  if (!reads) return [write]
  return isTrial ? [read, write] : [read]
}

/** Throws `scope_required` unless the caller has one of the scopes; none: every caller has. Without a token it has all. */
export function requireScope({ token }: Pick<Principal, 'token'>, needed: () => readonly string[]): void {
  const held = scopesIn(token?.scopes)
  if (held === null) return
  const scopes = needed()
  const [first] = scopes
  if (first === undefined || scopes.some(scope => hasScope(held, scope))) return
  throw new Fault(
    scopeRequired,
    `this token does not have the scope ${scopes.join(' or ')}; use a token that has it`,
    { details: { scope: first } }
  )
}

/** Throws `scope_required` if a route that two scopes allow needs the one that the caller lacks. */
export function requireScopeOf(
  caller: Pick<Principal, 'token'>,
  route: Called,
  what: { isTrial: boolean }
): void {
  requireScope(caller, () => {
    const [read, write] = scopesOf(route)
    return read !== undefined && write !== undefined ? [what.isTrial ? read : write] : []
  })
}
