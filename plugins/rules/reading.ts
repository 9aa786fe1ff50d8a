// Rules as their owners and superadmins see them.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { Fault, notOwner } from '../../kernel/base/errors.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule } from './entities.ts'
import { clientsNamed } from './find-client.ts'
import type { RuleRecord } from './record.ts'
import type { Records } from './records.ts'
import type { Filter } from './schema.ts'
import { ruleNotFound } from './service.ts'

export type Reading = ReturnType<typeof openReading>

export function openReading({ store }: Pick<Kernel, 'store'>, records: Records) {
  /** Throws `rule_not_found` or `not_owner`. */
  async function find(id: string, { role, userId }: Principal, em: EntityManager): Promise<Rule> {
    const rule = await em.findOne(Rule, { id })
    if (!rule) throw new Fault(ruleNotFound, `there is no rule ${id}`)
    if (role !== 'superadmin' && rule.owner !== userId)
      throw new Fault(notOwner, `rule ${id} belongs to another user`)
    return rule
  }

  const read = (id: string, principal: Principal): Promise<RuleRecord> =>
    store.read(async em => {
      const rule = await find(id, principal, em)
      const [record] = await records([rule], em)
      if (!record) throw new TypeError(`rule ${id} has no record`)
      return record
    })

  /** Lists rules in the order of creation. */
  function list(filter: Static<typeof Filter>, { role, userId }: Principal): PagedRows<RuleRecord> {
    if (role !== 'superadmin' && filter.owner !== undefined && filter.owner !== userId)
      throw new Fault(notOwner, 'only a superadmin may list the rules of another user')
    const owner = role === 'superadmin' ? filter.owner : userId
    return {
      async page(after, take, em) {
        const where = {
          ...(after !== null && { id: { $gt: after } }),
          ...(owner !== undefined && { owner }),
          ...(filter.client !== undefined && { clientId: { $in: await clientIds(filter.client, em) } })
        }
        const rules = await em.find(Rule, where, { orderBy: { id: 'asc' }, limit: take })
        return (await records(rules, em)).map(row => ({ key: row.rule_id, row }))
      }
    }
  }

  async function clientIds(client: string, em: EntityManager): Promise<string[]> {
    return (await em.find(Client, clientsNamed(client), { fields: ['id'] })).map(({ id }) => id)
  }

  return { find, read, list }
}
