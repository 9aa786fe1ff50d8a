// Rules on several clients, as commands show them.
import { escapeControlChars } from '../../../kernel/base/log.ts'
import type { Print } from '../../../kernel/cli/command.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import type { Edge } from '../group-rules/edges.ts'

const edgesOf = ({ edges }: RuleRecord): readonly Edge[] | null => (edges ?? null) as readonly Edge[] | null

/** The client of a rule, or how many of several have it. */
export function formatClient(rule: RuleRecord): string {
  const edges = edgesOf(rule)
  if (rule.client_name !== null || !edges) return rule.client_name ?? ''
  const active = edges.filter(({ state }) => state === 'active').length
  const all = `${edges.length} client${edges.length === 1 ? '' : 's'}`
  return active === edges.length ? all : `${active} of ${all}`
}

/** False for a rule that one of several clients could not take. */
export const isOnAllClients = (rule: RuleRecord): boolean =>
  (edgesOf(rule) ?? []).every(({ state }) => state !== 'failed')

/** Prints a rule; its state on several clients has a line for each, below the rest. */
export function printRule(rule: RuleRecord, print: Print): void {
  const edges = edgesOf(rule)
  const columns = Object.keys(rule).filter(key => key !== 'edges')
  if (!edges) {
    print.data(rule, columns)
    return
  }
  const width = Math.max(0, ...edges.map(({ client_name: name }) => name.length))
  const lines = edges.map(
    ({ client_name: name, state, state_reason: why }) =>
      `  ${name.padEnd(width)}  ${state}${why === null || why === state ? '' : ` (${why})`}`
  )
  print.data(rule, columns, ['', formatClient(rule), ...lines].map(escapeControlChars).join('\n'))
}
