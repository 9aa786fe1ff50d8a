import { allScopes, type MountedPlugins, scopesOf } from '../http/exports.ts'
import type { ScopeRow } from './schema.ts'

/** The scopes that a token can have: those that a route of a loaded plugin needs, and those for all areas. */
export interface KnownScopes {
  /** Returns them in alphabetical order, with their routes. Scopes for all areas come first, without routes. */
  list(): readonly ScopeRow[]
  names(): ReadonlySet<string>
}

export function openKnownScopes({
  mountedPlugins
}: {
  readonly mountedPlugins: MountedPlugins
}): KnownScopes {
  function list(): readonly ScopeRow[] {
    const needs = mountedPlugins
      .all()
      .flatMap(({ plugin: { routes = [] } }) => routes)
      .flatMap(route => scopesOf(route).map(scope => ({ scope, route: textOf(route) })))
    const byScope = [...Map.groupBy(needs, ({ scope }) => scope)].map(([scope, found]) => ({
      scope,
      routes: found.map(({ route }) => route).sort()
    }))
    return [...allScopes.map(scope => ({ scope, routes: [] })), ...byScope.sort(byName)]
  }

  return { list, names: () => new Set(list().map(({ scope }) => scope)) }
}

const byName = (a: ScopeRow, b: ScopeRow): number => (a.scope < b.scope ? -1 : 1)

/** 'GET /v1/rules/{rule_id}' */
const textOf = ({ method, url }: { readonly method: string; readonly url: string }): string =>
  `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`
