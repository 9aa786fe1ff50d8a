// The stats of one rule: totals of the ledger, and active connections from the agent's last report. A group rule gets the
// sums over its members, and on request the stats of each member.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { type Counts, noCounts, plus } from '../../agent/wire/counters.ts'
import { targetKey } from '../../agent/wire/journal-report.ts'
import { timestampOrNull } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleRecord, Rules } from '../rules/exports.ts'
import { type ActiveConnections, sumConnections } from './active-connections.ts'
import { StatsTotal } from './entities.ts'
import type { Flags, PortStats, RuleStats, TargetStats } from './schema.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'find' | 'read' | 'listMembers'>
  readonly activeConnections: Pick<ActiveConnections, 'ofRule'>
}

type Totals = readonly StatsTotal[]
type Total = Counts & Pick<StatsTotal, 'kind' | 'key' | 'updatedAt'>
type ActiveByPort = ReadonlyMap<number, number>
type Rule = Awaited<ReturnType<Rules['find']>>
type Member = Pick<Rule, 'id' | 'clientId'>

/** Each open stream calls this every 5 s, so it reads the full rule record only for targets. */
export function openRuleStats({ store, rules, activeConnections }: Services) {
  const activeOf = ({ id, clientId }: Member): ActiveByPort => activeConnections.ofRule(clientId, id)

  return async (id: string, flags: Static<typeof Flags>, principal: Principal): Promise<RuleStats> => {
    const { rule, members, names, totals } = await store.read(async em => {
      const rule = await rules.find(id, principal, em)
      const members: readonly Member[] = rule.clientId === '' ? await rules.listMembers(id, em) : [rule]
      const names = flags.per_client ? await loadNames(members, em) : null
      const totals = await em.find(StatsTotal, { ruleId: { $in: members.map(({ id }) => id) } })
      return { rule, members, names, totals }
    })
    const byMember = Map.groupBy(totals, ({ ruleId }) => ruleId)
    const all = sumTotals(totals)
    const active = mergePorts(members.map(activeOf))
    const { targets } = flags.per_target ? await rules.read(id, principal) : { targets: [] }
    return {
      rule_id: id,
      client_id: rule.clientId || null,
      protocol: rule.protocol,
      ...toCounts(rule, all, active),
      ...(flags.per_port && { per_port: portStats(rule, all, active) }),
      ...(flags.per_target && { per_target: targetStats(targets, all) }),
      ...(names && {
        per_client: members.map(member => ({
          client_id: member.clientId,
          client_name: names.get(member.clientId) ?? '',
          ...toCounts(rule, byMember.get(member.id) ?? [], activeOf(member))
        }))
      })
    }
  }
}

async function loadNames(
  members: readonly Member[],
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  const clients = await em.find(Client, { id: { $in: members.map(({ clientId }) => clientId) } })
  return new Map(clients.map(({ id, name }) => [id, name]))
}

/** Adds up the totals of several rules. */
function sumTotals(totals: Totals): readonly Total[] {
  const sums = new Map<string, Total>()
  for (const { kind, key, updatedAt, ...row } of totals) {
    const sum = sums.get(`${kind} ${key}`)
    const latest = Math.max(updatedAt, sum?.updatedAt ?? 0)
    sums.set(`${kind} ${key}`, { ...plus(sum ?? noCounts, row), kind, key, updatedAt: latest })
  }
  return [...sums.values()]
}

function mergePorts(all: readonly ActiveByPort[]): ActiveByPort {
  const sums = new Map<number, number>()
  for (const ports of all) for (const [port, active] of ports) sums.set(port, (sums.get(port) ?? 0) + active)
  return sums
}

function toCounts({ protocol }: Rule, totals: readonly Total[], byPort: ActiveByPort) {
  const counts = byKey(totals, 'rule').get('') ?? noCounts
  const rejected = [...byKey(totals, 'rejected')].map(([reason, row]) => [reason, row.rejected])
  const updatedAt = Math.max(0, ...totals.map(row => row.updatedAt))
  const active = sumConnections(byPort)
  return {
    bytes_in: counts.bytesIn,
    bytes_out: counts.bytesOut,
    active_connections: protocol === 'tcp' ? active : 0,
    connections_total: counts.connections,
    dns_failures: counts.dnsFailures,
    datagrams_in: counts.datagramsIn,
    datagrams_out: counts.datagramsOut,
    active_flows: protocol === 'udp' ? active : 0,
    flows_dropped_overflow: counts.overflows,
    target_failovers: counts.failovers,
    rejected: Object.fromEntries(rejected),
    updated_at: timestampOrNull(updatedAt)
  }
}

/** Returns all ports of the rule, including those without traffic. */
function portStats(
  { listenFrom, listenTo }: Rule,
  totals: readonly Total[],
  active: ActiveByPort
): PortStats[] {
  const byPort = byKey(totals, 'port')
  return Array.from({ length: listenTo - listenFrom + 1 }, (_, i) => {
    const port = listenFrom + i
    const counts = byPort.get(String(port)) ?? noCounts
    return {
      listen_port: port,
      bytes_in: counts.bytesIn,
      bytes_out: counts.bytesOut,
      active_connections: active.get(port) ?? 0,
      datagrams_in: counts.datagramsIn,
      datagrams_out: counts.datagramsOut
    }
  })
}

/** Returns targets in the order of the rule record. A plugin may add health to the record. */
function targetStats(targets: RuleRecord['targets'], totals: readonly Total[]): TargetStats[] {
  const byTarget = byKey(totals, 'target')
  return targets.map(target => {
    const { host, port, priority, health } = target as typeof target & WithHealth
    const counts = byTarget.get(targetKey(target)) ?? noCounts
    return {
      host,
      port,
      priority,
      health: health?.state ?? 'unknown',
      bytes_in: counts.bytesIn,
      bytes_out: counts.bytesOut,
      connections_total: counts.connections,
      consecutive_failures: health?.consecutive_failures ?? 0
    }
  })
}

interface WithHealth {
  readonly health?: { readonly state: TargetStats['health']; readonly consecutive_failures: number }
}

const byKey = (totals: readonly Total[], kind: string): Map<string, Total> =>
  new Map(totals.flatMap(row => (row.kind === kind ? [[row.key, row]] : [])))
