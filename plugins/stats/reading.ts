// What is told of one rule: sums of the ledger, and what lives on it as its agent last said.
import type { Static } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleRecord, Rules } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import { StatsTotal } from './entities.ts'
import type { Flags, PortStats, RuleStats, TargetStats } from './schema.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'read'>
  readonly lives: Pick<ActiveConnections, 'of'>
}

type Totals = readonly StatsTotal[]
type Wanted = Static<typeof Flags>

export function openReading({ store, rules, lives }: Services) {
  return async function ofRule(id: string, wanted: Wanted, principal: Principal): Promise<RuleStats> {
    const rule = await rules.read(id, principal)
    const totals = await store.read(em => em.find(StatsTotal, { ruleId: id }))
    const live = lives.of(rule.client_id, id)
    return {
      ...wholeOf(rule, totals, live),
      ...(wanted.per_port && { per_port: portsOf(rule, totals, live) }),
      ...(wanted.per_target && { per_target: targetsOf(rule, totals) })
    }
  }
}

function wholeOf(
  { rule_id, client_id, protocol }: RuleRecord,
  totals: Totals,
  live: ReadonlyMap<number, number>
) {
  const whole = totals.find(({ kind }) => kind === 'rule')
  const rejected = totals
    .filter(({ kind }) => kind === 'rejected')
    .map(({ key, rejected }) => [key, rejected])
  const updatedAt = Math.max(0, ...totals.map(({ updatedAt }) => updatedAt))
  const active = [...live.values()].reduce((sum, connections) => sum + connections, 0)
  return {
    rule_id,
    client_id,
    protocol,
    bytes_in: whole?.bytesIn ?? 0,
    bytes_out: whole?.bytesOut ?? 0,
    active_connections: protocol === 'tcp' ? active : 0,
    connections_total: whole?.connections ?? 0,
    dns_failures: whole?.dnsFailures ?? 0,
    datagrams_in: whole?.datagramsIn ?? 0,
    datagrams_out: whole?.datagramsOut ?? 0,
    active_flows: protocol === 'udp' ? active : 0,
    flows_dropped_overflow: whole?.overflows ?? 0,
    target_failovers: whole?.failovers ?? 0,
    rejected: Object.fromEntries(rejected),
    updated_at: updatedAt === 0 ? null : timestamp(updatedAt)
  }
}

/** All ports of the rule, those without traffic too. */
function portsOf(rule: RuleRecord, totals: Totals, live: ReadonlyMap<number, number>): PortStats[] {
  const booked = new Map(totals.flatMap(row => (row.kind === 'port' ? [[Number(row.key), row]] : [])))
  const last = Number(rule['listen_port_end'] ?? rule.listen_port)
  return Array.from({ length: last - rule.listen_port + 1 }, (_, i) => {
    const listen_port = rule.listen_port + i
    const row = booked.get(listen_port)
    return {
      listen_port,
      bytes_in: row?.bytesIn ?? 0,
      bytes_out: row?.bytesOut ?? 0,
      active_connections: live.get(listen_port) ?? 0,
      datagrams_in: row?.datagramsIn ?? 0,
      datagrams_out: row?.datagramsOut ?? 0
    }
  })
}

/** In the rule's order. What is known of a target's health is the business of whoever puts it into the record. */
function targetsOf({ targets }: RuleRecord, totals: Totals): TargetStats[] {
  const booked = new Map(totals.flatMap(row => (row.kind === 'target' ? [[row.key, row]] : [])))
  return targets.map(target => {
    const { host, port, priority, health } = target as typeof target & Judged
    const row = booked.get(`${host.includes(':') ? `[${host}]` : host}:${port}`)
    return {
      host,
      port,
      priority,
      health: health?.state ?? 'unknown',
      bytes_in: row?.bytesIn ?? 0,
      bytes_out: row?.bytesOut ?? 0,
      connections_total: row?.connections ?? 0,
      consecutive_failures: health?.consecutive_failures ?? 0
    }
  })
}

interface Judged {
  readonly health?: { readonly state: TargetStats['health']; readonly consecutive_failures: number }
}
