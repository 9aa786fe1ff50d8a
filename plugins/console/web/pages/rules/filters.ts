// Which rules a list shows. It is in the address, so that a figure elsewhere can lead to what it counts:
// /rules?state=failed, /rules?edge=ID, /rules?targets=down, /rules?selector=env=prod
import { useSearchParams } from 'wouter'
import type { EdgesById } from '../clients/queries.ts'
import type { Rule } from './queries.ts'
import { downTargets, shownStateOf } from './shown-state.ts'

const names = ['q', 'selector', 'state', 'edge', 'owner', 'targets'] as const
export type Filters = Readonly<Record<(typeof names)[number], string>>

export function useFilters() {
  const [params, setParams] = useSearchParams()
  const filters = Object.fromEntries(names.map(name => [name, params.get(name) ?? ''])) as Filters
  const set = (name: keyof Filters, value: string): void =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  return { filters, set, clear: () => setParams(new URLSearchParams(), { replace: true }) }
}

/** What the server does not choose by its selector. */
export function chosen(
  rules: readonly Rule[],
  filters: Omit<Filters, 'q' | 'selector'>,
  edges: EdgesById
): readonly Rule[] {
  const { state, edge, owner, targets } = filters
  const tests = [
    state !== '' && ((rule: Rule) => state.split(',').includes(shownStateOf(rule, edges))),
    edge !== '' && ((rule: Rule) => isOn(rule, edge)),
    owner !== '' && ((rule: Rule) => rule.owner === owner),
    targets === 'down' && ((rule: Rule) => downTargets(rule, edges).length > 0)
  ].filter(test => test !== false)
  return tests.length === 0 ? rules : rules.filter(rule => tests.every(test => test(rule)))
}

export const isOn = ({ client_id, edges }: Rule, edge: string): boolean =>
  client_id === edge || (edges?.some(at => at.client_id === edge) ?? false)
