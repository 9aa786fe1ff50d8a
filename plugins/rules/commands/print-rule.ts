// Prints rules, with a line for each client of a group rule.
import { escapeControlChars } from '../../../kernel/base/log.ts'
import type { Column, Print } from '../../../kernel/cli/command.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import type { Edge } from '../group-rules/edges.ts'

const edgesOf = ({ edges }: RuleRecord): readonly Edge[] | null => (edges ?? null) as readonly Edge[] | null

/** Returns the client of a rule; for a group rule, on how many of its clients it is active. */
export function formatClient(rule: RuleRecord): string {
  const edges = edgesOf(rule)
  if (rule.client_name !== null || !edges) return rule.client_name ?? ''
  const active = edges.filter(({ state }) => state === 'active').length
  const all = `${edges.length} client${edges.length === 1 ? '' : 's'}`
  return active === edges.length ? all : `${active} of ${all}`
}

/** Returns false for a group rule that failed on one of its clients. */
export const isOnAllClients = (rule: RuleRecord): boolean =>
  (edgesOf(rule) ?? []).every(({ state }) => state !== 'failed')

/** Plugins may add the health and a weight to a target. */
type Target = RuleRecord['targets'][number] & {
  readonly weight?: number
  readonly health?: { readonly state: string; readonly reason: string | null; readonly source: string | null }
}

function formatTarget({ host, port, priority, weight = 1, health }: Target): string {
  const reason = health?.reason == null ? '' : `: ${health.reason}`
  const source = health?.source == null ? '' : `, by ${health.source}`
  const details = [`priority ${priority}`, ...(weight === 1 ? [] : [`weight ${weight}`])]
  if (health) details.push(`${health.state}${reason}${source}`)
  return `${host.includes(':') ? `[${host}]` : host}:${port} (${details.join(', ')})`
}

const formatTargets = ({ targets }: RuleRecord): string => targets.map(formatTarget).join(', ')

export const formatListen = ({ protocol, listen_port: from, listen_port_end: to }: RuleRecord): string =>
  `${protocol}/${from}${to === null ? '' : `-${to}`}`

export function printRule(rule: RuleRecord, print: Print): void {
  const edges = edgesOf(rule)
  const columns = Object.keys(rule)
    .filter(key => key !== 'edges')
    .map((key): Column<RuleRecord> => (key === 'targets' ? ['targets', formatTargets] : key))
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
