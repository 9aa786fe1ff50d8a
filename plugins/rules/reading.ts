import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../kernel/base/errors.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule, type Target } from './entities.ts'
import { type RuleCore, type RuleOwnership, ruleNotFound, targetViewSlot } from './exports.ts'
import type { Fields } from './fields.ts'
import { clientsOf } from './find-client.ts'
import type { Filter, RuleRecord } from './schema.ts'

export interface RuleCount {
  readonly total: number
  readonly active: number
  readonly failed: number
}

export type Reading = ReturnType<typeof openReading>

/** Rules as their owners and superadmins see them. */
export function openReading({ store, filled }: Pick<Kernel, 'store' | 'filled'>, fields: Fields) {
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

  /** In the order in which they were made. */
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
    return (await em.find(Client, clientsOf(client), { fields: ['id'] })).map(({ id }) => id)
  }

  async function records(rules: readonly Rule[], em: EntityManager): Promise<RuleRecord[]> {
    const clientIds = [...new Set(rules.map(({ clientId }) => clientId))]
    const clients = await em.find(Client, { id: { $in: clientIds } }, { fields: ['name'] })
    const names = new Map(clients.map(({ id, name }) => [id, name]))
    const values = await fields.load(rules, em)
    const views = viewsOf(rules)
    return rules.map(rule => ({
      ...recordOf(rule, names.get(rule.clientId) ?? ''),
      targets: rule.targets.map((target, at) => ({
        ...target,
        port_end: portEnd(rule, target),
        ...views(rule, at)
      })),
      ...fields.shown(values.get(rule.id) ?? {})
    }))
  }

  /** What others know of the targets. */
  function viewsOf(rules: readonly Rule[]) {
    const views = filled(targetViewSlot).map(({ value }) => [value.key, value.load(rules)] as const)
    return ({ id }: Rule, at: number) => Object.fromEntries(views.map(([key, of]) => [key, of.get(id)?.[at]]))
  }

  /** How many rules `list` would show. */
  async function count({ role, userId }: Principal, em: EntityManager): Promise<RuleCount> {
    const where = role === 'superadmin' ? {} : { owner: userId }
    const [total, active, failed] = await Promise.all([
      em.count(Rule, where),
      em.count(Rule, { ...where, state: 'active' }),
      em.count(Rule, { ...where, state: 'failed' })
    ])
    return { total, active, failed }
  }

  /** Of the rules that are stored; one that is gone is left out. */
  async function holdersOf(ids: readonly string[], em: EntityManager): Promise<Map<string, RuleOwnership>> {
    const holders = new Map<string, RuleOwnership>()
    for (let at = 0; at < ids.length; at += idsPerQuery) {
      const some = { id: { $in: ids.slice(at, at + idsPerQuery) } }
      const rules = await em.find(Rule, some, { fields: ['clientId', 'owner'], disableIdentityMap: true })
      for (const { id, clientId, owner } of rules) holders.set(id, { clientId, owner })
    }
    return holders
  }

  const matching = (where: FilterQuery<Rule>, em: EntityManager): Promise<RuleCore[]> =>
    em.find(Rule, where, { orderBy: { id: 'asc' } })

  /** Of all rules, in the order in which they were made: those after this id. */
  const page = (after: string, take: number, em: EntityManager) =>
    em.execute<(RuleOwnership & Pick<Rule, 'id' | 'protocol'>)[]>(
      'select id, client_id as clientId, owner, protocol from rules where id > ? order by id limit ?',
      [after, take]
    )

  const clientsOfOwner = async (owner: string, em: EntityManager): Promise<string[]> =>
    Object.keys(await em.countBy(Rule, 'clientId', { where: { owner } }))

  return { find, read, list, count, holdersOf, page, matching, clientsOfOwner }
}

const idsPerQuery = 1000

const portEnd = ({ listenFrom, listenTo }: Rule, { port }: Target): number | null =>
  listenTo > listenFrom ? port + listenTo - listenFrom : null

const recordOf = (rule: Rule, clientName: string) => ({
  rule_id: rule.id,
  client_id: rule.clientId,
  client_name: clientName,
  listen_port: rule.listenFrom,
  listen_port_end: rule.listenTo > rule.listenFrom ? rule.listenTo : null,
  protocol: rule.protocol,
  prefer_ipv6: rule.preferIpv6,
  owner: rule.owner,
  state: rule.state,
  state_reason: rule.stateReason ?? null,
  created_at: timestamp(rule.createdAt),
  updated_at: timestamp(rule.updatedAt),
  state_changed_at: timestamp(rule.stateChangedAt)
})
