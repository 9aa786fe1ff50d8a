import { timestamp } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/clients.ts'
import type { Rules } from '../rules/rules.ts'
import { StatsTotal } from './entities.ts'
import { openHolders } from './holders.ts'
import { openLedger } from './ledger.ts'
import { openLives } from './lives.ts'
import { openReports } from './reports.ts'
import type { RuleStats } from './schema.ts'
import { openSummary } from './summary.ts'
import { dropSpans } from './tables.ts'

export type Stats = ReturnType<typeof openStats>

const spansKeptMs = 48 * 3_600_000 // what an agent may still say again; the totals hold them for ever

export function openStats(deps: Kernel & { readonly clients: Clients; readonly rules: Rules }) {
  const { store, clock, log, codec, clients, rules } = deps
  const lives = openLives(deps)
  const holders = openHolders(deps)
  const ledger = openLedger(deps, holders)
  const reports = openReports({ store, clock, log, codec, ledger, lives })
  const summary = openSummary({ store, clients, rules, lives })

  async function ofRule(id: string, principal: Principal): Promise<RuleStats> {
    const { client_id, protocol } = await rules.read(id, principal)
    const totals = await store.read(em =>
      em.find(StatsTotal, { ruleId: id, kind: { $in: ['rule', 'rejected'] } })
    )
    const whole = totals.find(({ kind }) => kind === 'rule')
    const rejected = totals
      .filter(({ kind }) => kind === 'rejected')
      .map(({ key, rejected }) => [key, rejected])
    const updatedAt = Math.max(0, ...totals.map(({ updatedAt }) => updatedAt))
    return {
      rule_id: id,
      client_id,
      protocol,
      bytes_in: whole?.bytesIn ?? 0,
      bytes_out: whole?.bytesOut ?? 0,
      active_connections: lives.connectionsOf(client_id, id),
      connections_total: whole?.connections ?? 0,
      dns_failures: whole?.dnsFailures ?? 0,
      datagrams_in: 0,
      datagrams_out: 0,
      active_flows: 0,
      flows_dropped_overflow: 0,
      target_failovers: whole?.failovers ?? 0,
      rejected: Object.fromEntries(rejected),
      updated_at: updatedAt === 0 ? null : timestamp(updatedAt)
    }
  }

  /** In short transactions: the thread answers heartbeats, too. */
  async function tidy(): Promise<void> {
    try {
      const before = Math.floor((clock.now() - spansKeptMs) / 1000)
      for (let isMore = true; isMore; ) isMore = await store.change(em => dropSpans(before, em))
    } catch (error) {
      log.warn('stats.not_tidied', `tried again in an hour: ${String(error)}`)
    }
  }

  return {
    ...reports,
    ofRule,
    summary,
    tidy,
    removed: holders.removed,
    start: () => store.change(holders.sweep),
    release: lives.release
  }
}
