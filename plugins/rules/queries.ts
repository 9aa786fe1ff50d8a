// What other plugins ask about rules, in their own transactions.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import { Rule } from './entities.ts'
import type { RuleCore, RuleOwnership } from './rule-field.ts'
import type { RuleCount, Rules } from './service.ts'

const idsPerQuery = 1000

async function count({ role, userId }: Principal, em: EntityManager): Promise<RuleCount> {
  const where = role === 'superadmin' ? {} : { owner: userId }
  const [total, active, failed] = await Promise.all([
    em.count(Rule, where),
    em.count(Rule, { ...where, state: 'active' }),
    em.count(Rule, { ...where, state: 'failed' })
  ])
  return { total, active, failed }
}

async function ownershipOf(ids: readonly string[], em: EntityManager): Promise<Map<string, RuleOwnership>> {
  const found = new Map<string, RuleOwnership>()
  for (let at = 0; at < ids.length; at += idsPerQuery) {
    const some = { id: { $in: ids.slice(at, at + idsPerQuery) } }
    const rules = await em.find(Rule, some, { fields: ['clientId', 'owner'], disableIdentityMap: true })
    for (const { id, clientId, owner } of rules) found.set(id, { clientId, owner })
  }
  return found
}

const matching = (where: FilterQuery<Rule>, em: EntityManager): Promise<RuleCore[]> =>
  em.find(Rule, where, { orderBy: { id: 'asc' } })

const page: Rules['page'] = (after, take, em) =>
  em.execute(
    'select id, client_id as clientId, owner, protocol from rules where id > ? order by id limit ?',
    [after, take]
  )

const clientsOfOwner = async (owner: string, em: EntityManager): Promise<string[]> =>
  Object.keys(await em.countBy(Rule, 'clientId', { where: { owner } }))

export const queries = { count, ownershipOf, matching, page, clientsOfOwner }
