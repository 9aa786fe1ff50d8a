// The stats of one rule: totals of the ledger, and connections as its agent reported them last.
import type { Static } from 'typebox'
import { timestampOrNull } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleRecord, Rules } from '../rules/exports.ts'
import { type ActiveConnections, sumOf } from './active-connections.ts'
import { noCounts } from './counters.ts'
import { StatsTotal } from './entities.ts'
import type { Flags, PortStats, RuleStats, TargetStats } from './schema.ts'
import { targetKey } from './wire.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'read'>
  readonly activeConnections: Pick<ActiveConnections, 'ofRule'>
}

type Totals = readonly StatsTotal[]
type ActiveByPort = ReadonlyMap<number, number>

export function openRuleStats({ store, rules, activeConnections }: Services) {
  return async (id: string, flags: Static<typeof Flags>, principal: Principal): Promise<RuleStats> => {
    const rule = await rules.read(id, principal)
    const totals = await store.read(em => em.find(StatsTotal, { ruleId: id }))
    const active = activeConnections.ofRule(rule.client_id, id)
    return {
      ...ruleStats(rule, totals, active),
      ...(flags.per_port && { per_port: portStats(rule, totals, active) }),
      ...(flags.per_target && { per_target: targetStats(rule, totals) })
    }
  }
}

function ruleStats({ rule_id, client_id, protocol }: RuleRecord, totals: Totals, byPort: ActiveByPort) {
  const counts = byKey(totals, 'rule').get('') ?? noCounts
  const rejected = [...byKey(totals, 'rejected')].map(([reason, row]) => [reason, row.rejected])
  const updatedAt = Math.max(0, ...totals.map(row => row.updatedAt))
  const active = sumOf(byPort)
  return {
    rule_id,
    client_id,
    protocol,
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

/** Returns all ports of the rule, also those without traffic. */
function portStats(rule: RuleRecord, totals: Totals, active: ActiveByPort): PortStats[] {
  const byPort = byKey(totals, 'port')
  const last = Number(rule['listen_port_end'] ?? rule.listen_port)
  return Array.from({ length: last - rule.listen_port + 1 }, (_, i) => {
    const port = rule.listen_port + i
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

/** Returns targets in the rule's order. Their health is in the record if a plugin adds it. */
function targetStats({ targets }: RuleRecord, totals: Totals): TargetStats[] {
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

const byKey = (totals: Totals, kind: string): Map<string, StatsTotal> =>
  new Map(totals.flatMap(row => (row.kind === kind ? [[row.key, row]] : [])))
