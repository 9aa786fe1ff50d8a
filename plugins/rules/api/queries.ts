import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Principal } from '../../../kernel/http/principal.ts'
import { seesAll } from '../../http/exports.ts'
import { noClient, onClients, Rule } from '../entities.ts'
import type { RuleCore, RuleOwnership, RuleScope } from '../fields/rule-field.ts'

/** A rule on a client. `shownId` is the id that the API shows: for a member, that of its group rule. */
export interface PageRow
  extends RuleOwnership,
    Pick<Rule, 'id' | 'protocol' | 'listenFrom' | 'listenTo' | 'state'> {
  readonly shownId: string
}

/** Queries about rules, which other plugins run in their transactions. */
export interface RuleQueries {
  /** Counts the rules that the user may see. A group rule is active if all members are, and failed if one is. */
  count(
    principal: Principal,
    em: EntityManager
  ): Promise<{ readonly total: number; readonly active: number; readonly failed: number }>
  /** Counts the active rules on clients, members of group rules included. */
  countActive(em: EntityManager): Promise<number>
  /** Returns the ids of all rules, group rules and members. */
  allIds(em: EntityManager): Promise<ReadonlySet<string>>
  /** Returns client, owner, ports and targets, with former ones, by rule id. Unknown ids are left out. */
  loadScopes(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, RuleScope>>
  /**
   * Returns all matching rules in the order of creation, with members, and with group rules (`clientId` ''). While a change is
   * pending, `before` has what is still in force.
   */
  matching(where: FilterQuery<Rule>, em: EntityManager): Promise<(RuleCore & Pick<Rule, 'before'>)[]>
  /** Returns, by id, the id under which the API shows the rule: for a member, that of its group rule. */
  shownIds(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, string>>
  /** Returns the names of rules, by id. Rules without a name are left out; a member has the name of its group rule. */
  loadNames(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, string>>
  /** Returns the members of a group rule; for any other rule, the rule itself. */
  listMembers(id: string, em: EntityManager): Promise<Pick<Rule, 'id' | 'clientId'>[]>
  /** Returns up to `take` rules on clients after the id `after`, in the order of creation. */
  page(after: string, take: number, em: EntityManager): Promise<PageRow[]>
  /** Returns the id of a rule that has the port on the client, for TCP or UDP, or null. */
  holderOf(clientId: string, port: number, em: EntityManager): Promise<string | null>
  /** Returns the given owners that have rules on the client. */
  ownersOn(clientId: string, owners: readonly string[], em: EntityManager): Promise<string[]>
  /** Returns the clients with rules of the owner, and those that refused a member of a group rule. */
  clientsOfOwner(owner: string, em: EntityManager): Promise<string[]>
}

const scopeColumns = [
  'id',
  'clientId',
  'owner',
  'name',
  'listenFrom',
  'listenTo',
  'targets',
  'formerTargets',
  'formerPorts'
] as const
type ScopeRow = Pick<Rule, (typeof scopeColumns)[number]>

export const queries: RuleQueries = {
  async count(caller, em) {
    const owner = seesAll(caller) ? null : caller.userId
    const where = owner === null ? {} : { owner }
    const shown = { parent: null, ...where }
    const [total, active, failed] = await Promise.all([
      em.count(Rule, shown),
      em.count(Rule, { ...shown, ...onClients, state: 'active' }),
      em.count(Rule, { ...shown, ...onClients, state: 'failed' })
    ])
    const groupRules = await countGroupRules(owner, em)
    return { total, active: active + groupRules.active, failed: failed + groupRules.failed }
  },

  countActive: em => em.count(Rule, { ...onClients, state: 'active' }),

  async allIds(em) {
    return new Set((await em.execute<{ id: string }[]>('select id from rules')).map(({ id }) => id))
  },

  async loadScopes(ids, em) {
    const options: object = { fields: scopeColumns }
    const rules: ScopeRow[] = await em.find(Rule, { id: { $in: [...ids] } }, options)
    return new Map(
      rules.map(({ id, formerTargets, formerPorts, ...rule }) => {
        const former = { targets: formerTargets ?? [], ports: formerPorts ?? [] }
        return [id, { ...rule, former }]
      })
    )
  },

  matching: (where, em) => em.find(Rule, where, { orderBy: { id: 'asc' } }),

  async shownIds(ids, em) {
    const rows = await em.find(Rule, { id: { $in: [...ids] } }, { fields: ['id', 'parent'] })
    return new Map(rows.map(({ id, parent }) => [id, parent ?? id]))
  },

  async loadNames(ids, em) {
    const where = { id: { $in: [...ids] }, name: { $ne: null } }
    const rows = await em.find(Rule, where, { fields: ['id', 'name'] })
    return new Map(rows.map(({ id, name }) => [id, name ?? '']))
  },

  listMembers: (id, em) =>
    em.execute(
      `select id, client_id as "clientId" from rules where parent = ? or (id = ? and client_id <> '${noClient}') order by id`,
      [id, id]
    ),

  page: (after, take, em) =>
    em.execute(
      `select id, coalesce(parent, id) as "shownId", client_id as "clientId", owner, protocol, listen_from as "listenFrom", listen_to as "listenTo", state
       from rules where id > ? and client_id <> '${noClient}' order by id limit ?`,
      [after, take]
    ),

  async holderOf(clientId, port, em) {
    const covers = (from: string, to: string) => `${from} <= ? and ${to} >= ?`
    const [holder] = await em.execute<{ id: string }[]>(
      `select coalesce(parent, id) as id from rules where client_id = ? and state <> 'draining'
       and (${covers('listen_from', 'listen_to')} or ${covers('moved_from', 'moved_to')}) order by id limit 1`,
      [clientId, port, port, port, port]
    )
    return holder?.id ?? null
  },

  async ownersOn(clientId, owners, em) {
    const where = { clientId, owner: { $in: [...owners] } }
    return Object.keys(await em.countBy(Rule, 'owner', { where }))
  },

  async clientsOfOwner(owner, em) {
    const placed = Object.keys(await em.countBy(Rule, 'clientId', { where: { ...onClients, owner } }))
    const refused = await em.execute<{ clientId: string }[]>(
      `select distinct member.client_id as "clientId" from rules
       join rules_refused_member member on member.parent = rules.id where rules.owner = ? and rules.parent is null`,
      [owner]
    )
    return [...new Set([...placed, ...refused.map(({ clientId }) => clientId)])]
  }
}

async function countGroupRules(owner: string | null, em: EntityManager) {
  const member = 'exists (select 1 from rules member where member.parent = group_rule.id'
  const refused = 'exists (select 1 from rules_refused_member refused where refused.parent = group_rule.id)'
  const [row] = await em.execute<{ active: number; failed: number }[]>(
    `select count(*) filter (where ${member}) and not ${member} and member.state <> 'active') and not ${refused}) as active,
     count(*) filter (where ${member} and member.state = 'failed') or ${refused}) as failed
     from rules group_rule where group_rule.client_id = '${noClient}' ${owner === null ? '' : 'and group_rule.owner = ?'}`,
    owner === null ? [] : [owner]
  )
  return { active: Number(row?.active ?? 0), failed: Number(row?.failed ?? 0) }
}
