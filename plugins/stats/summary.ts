// Counts and sums over everything that a user may see.
import type { EntityManager } from '@mikro-orm/sql'
import { maxCount } from '../../agent/wire/counters.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import { seesAll } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import type { Summary } from './schema.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly clients: Clients
  readonly rules: Rules
  readonly activeConnections: Pick<ActiveConnections, 'all'>
}

export const openSummary =
  ({ store, clients, rules, activeConnections }: Services) =>
  (principal: Principal): Promise<Summary> => {
    const isVisible = (owner: string): boolean => seesAll(principal) || principal.userId === owner

    /** Skips deleted rules, which their agent may still drain. */
    async function countConnections(em: EntityManager): Promise<number> {
      const ports = activeConnections.all()
      const owners = await rules.loadScopes([...new Set(ports.map(({ ruleId }) => ruleId))], em)
      return ports
        .filter(({ ruleId, clientId }) => {
          const rule = owners.get(ruleId)
          return rule?.clientId === clientId && isVisible(rule.owner)
        })
        .reduce((sum, { connections }) => sum + connections, 0)
    }

    return store.read(async em => ({
      clients: await clients.count(principal, em),
      rules: await rules.count(principal, em),
      ...(await sumBytes(principal, em)),
      active_connections: await countConnections(em)
    }))
  }

/** Skips deleted rules, which keep their totals until their last report. Sums doubles, because integers could overflow. */
async function sumBytes(caller: Principal, em: EntityManager) {
  const [sum] = await em.execute<{ bytes_in: number | null; bytes_out: number | null }[]>(
    `select ${['bytes_in', 'bytes_out'].map(column => `sum(cast(${column} as double precision)) as ${column}`)} from stats_total
     where kind = 'rule' and rule_id not in (select rule_id from stats_removed_rule)
     ${seesAll(caller) ? '' : 'and owner = ?'}`,
    seesAll(caller) ? [] : [caller.userId]
  )
  const bounded = (bytes: number | null | undefined): number => Math.min(maxCount, bytes ?? 0)
  return { bytes_in: bounded(sum?.bytes_in), bytes_out: bounded(sum?.bytes_out) }
}
