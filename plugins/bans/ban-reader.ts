import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { Ban } from './entities.ts'
import type { BanQuery, BanRecord } from './schema.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

/** Reads bans in the form that the API shows. */
export interface BanReader {
  records(bans: readonly Ban[], em: EntityManager): Promise<BanRecord[]>
  /** Returns the bans that match the query, newest first. */
  list(query: BanQuery): Promise<BanRecord[]>
}

export function openBanReader({ store, clock, rules }: Services): BanReader {
  async function records(bans: readonly Ban[], em: EntityManager): Promise<BanRecord[]> {
    const clients = await em.find(Client, { id: { $in: [...new Set(bans.map(({ clientId }) => clientId))] } })
    const names = new Map(clients.map(({ id, name }) => [id, name]))
    const ruleIds = [...new Set(bans.flatMap(({ ruleId }) => (ruleId === '' ? [] : [ruleId])))]
    const shownIds = await rules.shownIds(ruleIds, em)
    const now = clock.now()
    return bans.map(ban => ({
      ban_id: ban.id,
      source: ban.source,
      client_id: ban.clientId,
      client_name: names.get(ban.clientId) ?? '',
      rule_id: ban.ruleId === '' ? null : (shownIds.get(ban.ruleId) ?? ban.ruleId),
      cause: ban.cause,
      reason: ban.reason ?? null,
      made_by: ban.madeBy ?? null,
      times: ban.times,
      live: ban.live,
      from: timestamp(ban.fromMs),
      until: timestamp(ban.untilMs),
      state: ban.liftedAt != null ? 'lifted' : now < ban.untilMs ? 'in_force' : 'ended',
      lifted_by: ban.liftedBy ?? null
    }))
  }

  const list = ({ client, rule_id, state = 'in_force' }: BanQuery): Promise<BanRecord[]> =>
    store.read(async em => {
      const members = rule_id === undefined ? null : await rules.listMembers(rule_id, em)
      if (members?.length === 0) return []
      const scopes = members?.map(({ id, clientId }) => ({ clientId, ruleId: { $in: ['', id] } }))
      const bans = await em.find(
        Ban,
        {
          ...(client !== undefined && { clientId: client }),
          ...(scopes && { $or: scopes }),
          ...(state === 'in_force' && { liftedAt: null, untilMs: { $gt: clock.now() } })
        },
        { orderBy: { id: 'desc' } }
      )
      return records(bans, em)
    })

  return { records, list }
}
