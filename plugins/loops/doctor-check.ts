import { isLoopback } from '../../kernel/platform/network.ts'
import { type DoctorContext, defineCheck } from '../cli/check-exports.ts'
import { findCircle, type ListeningRule } from './circle.ts'
import { type ClientHost, loadedGraph } from './loaded-graph.ts'
import { parseStored } from './parse-stored.ts'

interface RuleRow extends Omit<ListeningRule, 'targets' | 'name' | 'isFallback'> {
  readonly targets: string | ListeningRule['targets'] // PostgreSQL parses JSON
}

interface NameRow {
  readonly rule: string
  readonly value: string | boolean // PostgreSQL parses JSON
}

interface HostRow extends ClientHost {
  readonly name: string
}

const maxShown = 3

export const loopCheck = defineCheck<'rules.loop'>({
  name: 'loops',
  roles: ['server'],
  findings: {
    'rules.loop': {
      status: 'warn',
      when: 'rules may forward to each other in a circle, so that one caller takes connections until a limit refuses one',
      remedy: 'change the target of one of the rules; concurrent_connections on them ends a circle earlier'
    }
  },
  async run({ query }) {
    const clients = await query<HostRow>(
      'kernel_client',
      'select id, name, address, remote_addr as "remoteAddr" from kernel_client where revoked_at is null'
    )
    const rules = await loadRules(query)
    const names = new Map(clients.map(({ id, name }) => [id, name]))
    const circles = await findAll(clients, rules)
    if (circles.length === 0) return [{ ok: 'no rules forward to each other in a circle' }]
    const shown = circles.slice(0, maxShown).map(circle => {
      const hops = circle.map(({ shownId, clientId }) => `${shownId} on ${names.get(clientId)}`)
      return [...hops, hops[0]].join(' -> ')
    })
    const more = circles.length > maxShown ? `; and ${circles.length - maxShown} more` : ''
    return [{ id: 'rules.loop', message: `${shown.join('; ')}${more}` }]
  }
})

/** Returns circles without a common rule. */
async function findAll(
  clients: readonly ClientHost[],
  rules: readonly ListeningRule[]
): Promise<(readonly ListeningRule[])[]> {
  const hosts = new Set(clients.flatMap(({ address, remoteAddr }) => [address, remoteAddr]))
  const graph = loadedGraph(clients, rules)
  const known = new Set<string>()
  const circles: (readonly ListeningRule[])[] = []
  for (const rule of rules) {
    const mayLoop = rule.targets.some(({ host }) => isLoopback(host) || hosts.has(host))
    const circle = mayLoop && !known.has(rule.id) ? await findCircle(rule, graph) : null
    if (!circle) continue
    circles.push(circle)
    for (const { id } of circle) known.add(id)
  }
  return circles
}

async function loadRules(query: DoctorContext['query']): Promise<readonly ListeningRule[]> {
  const rows = await query<RuleRow>(
    'rules',
    `select id, coalesce(parent, id) as "shownId", client_id as "clientId", owner, protocol,
     listen_from as "from", listen_to as "to", targets
     from rules where state = 'active' and client_id <> '' order by id`
  )
  const values = (key: string) =>
    query<NameRow>(
      'rules_field_value',
      `select rule_id as rule, value from rules_field_value where key = '${key}'`
    )
  const patterns = new Map(
    (await values('sni_pattern')).map(({ rule, value }) => [rule, String(parseStored(value))])
  )
  const fallbacks = new Set(
    (await values('sni_fallback')).flatMap(({ rule, value }) => (parseStored(value) === true ? [rule] : []))
  )
  return rows.map(({ targets, ...rule }) => ({
    ...rule,
    targets: parseStored(targets),
    name: patterns.get(rule.id) ?? null,
    isFallback: fallbacks.has(rule.id)
  }))
}
