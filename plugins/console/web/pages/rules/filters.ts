// Filters of the rule list. They are in the URL, so that other pages can link to them:
// /rules?state=failed, /rules?client=ID, /rules?targets=down, /rules?selector=env=prod, /rules?link=ID/ID
import { useUrlFilter } from '../../parts/use-url-filter.ts'
import type { ClientsById } from '../clients/queries.ts'
import { usesHop } from '../links/paths.ts'
import type { Rule } from './queries.ts'
import { downTargets, shownStateOf } from './shown-state.ts'

const names = ['q', 'selector', 'state', 'client', 'owner', 'targets', 'link'] as const
export type FilterValues = Readonly<Record<(typeof names)[number], string>>

export const useFilters = () => useUrlFilter<keyof FilterValues>(names)

/** Applies the filters that the API lacks; the server applies `selector`. */
export function filterRules(
  rules: readonly Rule[],
  filters: Omit<FilterValues, 'q' | 'selector'>,
  clients: ClientsById
): readonly Rule[] {
  const { state, client, owner, targets, link } = filters
  const tests = [
    state !== '' && ((rule: Rule) => state.split(',').includes(shownStateOf(rule, clients))),
    client !== '' && ((rule: Rule) => isOn(rule, client)),
    owner !== '' && ((rule: Rule) => rule.owner === owner),
    link !== '' && ((rule: Rule) => usesHop(rule, link)),
    targets === 'down' && ((rule: Rule) => downTargets(rule, clients).length > 0)
  ].filter(test => test !== false)
  return tests.length === 0 ? rules : rules.filter(rule => tests.every(test => test(rule)))
}

export const isOn = ({ client_id, edges }: Rule, client: string): boolean =>
  client_id === client || (edges?.some(at => at.client_id === client) ?? false)
