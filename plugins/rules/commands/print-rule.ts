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

function formatTarget({ host, port, port_end: _, priority, weight = 1, health, ...more }: Target): string {
  const reason = health?.reason == null ? '' : `: ${health.reason}`
  const source = health?.source == null ? '' : `, by ${health.source}`
  const details = [`priority ${priority}`, ...(weight === 1 ? [] : [`weight ${weight}`])]
  if (health) details.push(`${health.state}${reason}${source}`)
  for (const [key, value] of Object.entries(more))
    if (value !== null) details.push(`${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
  return `${formatAddress({ host, port })} (${details.join(', ')})`
}

export const formatAddress = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

export const formatListen = ({ protocol, listen_port: from, listen_port_end: to }: RuleRecord): string =>
  `${protocol}/${from}${to === null ? '' : `-${to}`}`

/** Returns the port as in CLIENT:PORT: '8080', '53/udp', '8000-8010'. */
export const formatPort = ({ protocol, listen_port: from, listen_port_end: to }: RuleRecord): string =>
  `${from}${to === null ? '' : `-${to}`}${protocol === 'tcp' ? '' : `/${protocol}`}`

/** Prints the properties that have a value, those of a part as `rule set` takes them: rate_limit.bandwidth_in_bps. */
export function printRule(rule: RuleRecord, print: Print): void {
  const columns = Object.entries(rule).flatMap(([key, value]): Column<RuleRecord>[] => {
    if (value === null || key === 'edges') return []
    if (key === 'targets') return [['targets', ({ targets }) => targets.map(formatTarget).join(', ')]]
    if (typeof value !== 'object' || Array.isArray(value)) return [key]
    return Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([name, part]) => [`${key}.${name}`, () => part])
  })
  print.data(rule, columns, edgesOf(rule) ? ['', ...edgeLines(rule)].join('\n') : undefined)
}

/** Prints a created or changed rule in one line, with a line for each client of a group rule. */
export function printChanged(rule: RuleRecord, print: Print): void {
  const { rule_id: id, state, state_reason: reason, targets } = rule
  const name = typeof rule['name'] === 'string' ? `${rule['name']} (${id})` : id
  const why = reason === null || reason === state ? '' : `, ${reason}`
  const place = `${rule.client_name ?? 'port '}${rule.client_name === null ? '' : ':'}${formatPort(rule)}`
  const line = `rule ${name} is ${state}${why}: ${place} to ${targets.map(formatAddress).join(', ')}`
  print.done([escapeControlChars(line), ...edgeLines(rule)].join('\n'), rule)
}

function edgeLines(rule: RuleRecord): string[] {
  const edges = edgesOf(rule)
  if (!edges) return []
  const width = Math.max(0, ...edges.map(({ client_name: name }) => name.length))
  const lines = edges.map(
    ({ client_name: name, state, state_reason: why }) =>
      `  ${name.padEnd(width)}  ${state}${why === null || why === state ? '' : ` (${why})`}`
  )
  return [formatClient(rule), ...lines].map(escapeControlChars)
}
