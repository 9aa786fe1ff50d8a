// All that a caller may see, in a few numbers.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { ActiveConnections } from './active-connections.ts'
import type { Summary } from './schema.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly clients: Clients
  readonly rules: Rules
  readonly lives: Pick<ActiveConnections, 'all'>
}

export const openSummary =
  ({ store, clients, rules, lives }: Services) =>
  (principal: Principal): Promise<Summary> => {
    const isMine = (owner: string): boolean => principal.role === 'superadmin' || principal.userId === owner

    /** What lives on rules that are there: one that is gone is nobody's. */
    async function connections(em: EntityManager): Promise<number> {
      const live = lives.all()
      const holders = await rules.ownershipOf([...new Set(live.map(({ rule_id }) => rule_id))], em)
      return live
        .filter(({ rule_id, clientId }) => {
          const holder = holders.get(rule_id)
          return holder?.clientId === clientId && isMine(holder.owner)
        })
        .reduce((sum, { connections }) => sum + connections, 0)
    }

    return store.read(async em => ({
      clients: await clients.count(principal, em),
      rules: await rules.count(principal, em),
      ...(await bytesOf(principal, em)),
      active_connections: await connections(em)
    }))
  }

/** Of rules that are there: the sums of one that is gone wait for its last report only. */
async function bytesOf({ role, userId }: Principal, em: EntityManager) {
  const [sum] = await em.execute<{ bytes_in: number; bytes_out: number }[]>(
    `select coalesce(sum(bytes_in), 0) as bytes_in, coalesce(sum(bytes_out), 0) as bytes_out from stats_total
     where kind = 'rule' and rule_id not in (select rule_id from stats_holder)
     ${role === 'superadmin' ? '' : 'and owner = ?'}`,
    role === 'superadmin' ? [] : [userId]
  )
  return { bytes_in: Number(sum?.bytes_in ?? 0), bytes_out: Number(sum?.bytes_out ?? 0) }
}
