// Queries about rules, which other plugins run in their transactions.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Principal } from '../../../kernel/http/principal.ts'
import { noClient, onClients, Rule } from '../entities.ts'
import type { RuleCore, RuleOwnership, RuleScope } from '../fields/rule-field.ts'

const scopeColumns = [
  ...(['id', 'clientId', 'owner', 'listenFrom', 'listenTo', 'targets'] as const),
  ...(['formerTargets', 'formerPorts'] as const)
]
type ScopeRow = Pick<Rule, (typeof scopeColumns)[number]>

export const queries = {
  /** Counts the rules that the caller may see. One of several clients is active on all of them, and failed on one or more. */
  async count({ role, userId }: Principal, em: EntityManager) {
    const where = role === 'superadmin' ? {} : { owner: userId }
    const shown = { parent: null, ...where }
    const [total, active, failed] = await Promise.all([
      em.count(Rule, shown),
      em.count(Rule, { ...shown, ...onClients, state: 'active' }),
      em.count(Rule, { ...shown, ...onClients, state: 'failed' })
    ])
    const wholes = await countWholes(role === 'superadmin' ? null : userId, em)
    return { total, active: active + wholes.active, failed: failed + wholes.failed }
  },

  /** Returns the ids of all rules: of parts and of wholes, too. */
  async allIds(em: EntityManager): Promise<ReadonlySet<string>> {
    return new Set((await em.execute<{ id: string }[]>('select id from rules')).map(({ id }) => id))
  },

  /** Returns client, owner, ports and targets, also former ones, by rule id; ids without a rule are left out. */
  async loadScopes(ids: readonly string[], em: EntityManager): Promise<Map<string, RuleScope>> {
    const options: object = { fields: scopeColumns }
    const rules: ScopeRow[] = await em.find(Rule, { id: { $in: [...ids] } }, options)
    return new Map(
      rules.map(({ id, formerTargets, formerPorts, ...rule }) => {
        const former = { targets: formerTargets ?? [], ports: formerPorts ?? [] }
        return [id, { ...rule, former }]
      })
    )
  },

  /** Returns all matching rules in the order of creation: parts, too, and wholes, whose `clientId` is ''. */
  matching: (where: FilterQuery<Rule>, em: EntityManager): Promise<RuleCore[]> =>
    em.find(Rule, where, { orderBy: { id: 'asc' } }),

  /** Returns, by id, the id under which the API has the rule: for a part that of its whole. */
  async shownIds(ids: readonly string[], em: EntityManager): Promise<Map<string, string>> {
    const rows = await em.find(Rule, { id: { $in: [...ids] } }, { fields: ['id', 'parent'] })
    return new Map(rows.map(({ id, parent }) => [id, parent ?? id]))
  },

  /** Returns the parts of a whole; any other rule is its own only part. */
  listMembers: (id: string, em: EntityManager): Promise<Pick<Rule, 'id' | 'clientId'>[]> =>
    em.execute(
      `select id, client_id as "clientId" from rules where parent = ? or (id = ? and client_id <> '${noClient}') order by id`,
      [id, id]
    ),

  /** Returns up to `take` rules on clients, `shownId` being that of its whole for a part, whose ids follow `after`, in the order of their ids, which is the order of creation. */
  page: (
    after: string,
    take: number,
    em: EntityManager
  ): Promise<
    (RuleOwnership & { readonly shownId: string } & Pick<
        Rule,
        'id' | 'protocol' | 'listenFrom' | 'listenTo' | 'state'
      >)[]
  > =>
    em.execute(
      `select id, coalesce(parent, id) as "shownId", client_id as "clientId", owner, protocol, listen_from as "listenFrom", listen_to as "listenTo", state
       from rules where id > ? and client_id <> '${noClient}' order by id limit ?`,
      [after, take]
    ),

  /** Returns those of the owners that have rules on the client. */
  async ownersOn(clientId: string, owners: readonly string[], em: EntityManager): Promise<string[]> {
    const where = { clientId, owner: { $in: [...owners] } }
    return Object.keys(await em.countBy(Rule, 'owner', { where }))
  },

  clientsOfOwner: async (owner: string, em: EntityManager): Promise<string[]> =>
    Object.keys(await em.countBy(Rule, 'clientId', { where: { ...onClients, owner } }))
}

async function countWholes(owner: string | null, em: EntityManager) {
  const part = 'exists (select 1 from rules part where part.parent = whole.id'
  const refused = 'exists (select 1 from rules_refused_part part where part.parent = whole.id)'
  const [row] = await em.execute<{ active: number; failed: number }[]>(
    `select count(*) filter (where ${part}) and not ${part} and part.state <> 'active') and not ${refused}) as active,
     count(*) filter (where ${part} and part.state = 'failed') or ${refused}) as failed
     from rules whole where whole.client_id = '${noClient}' ${owner === null ? '' : 'and whole.owner = ?'}`,
    owner === null ? [] : [owner]
  )
  return { active: Number(row?.active ?? 0), failed: Number(row?.failed ?? 0) }
}
