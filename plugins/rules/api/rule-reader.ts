// Rules as their owners and superadmins see them.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../../kernel/base/errors.ts'
import type { PagedRows } from '../../../kernel/http/list-route.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { listFilterSlots, listFilters } from '../../http/exports.ts'
import { clientsNamed } from '../changes/placement.ts'
import type { ClosedRules } from '../delivery/closed-rules.ts'
import { isGroupRule, onClients, RefusedMember, Rule, type ShownRule, shownColumns } from '../entities.ts'
import type { Fields } from '../fields/fields.ts'
import { edgesOf } from '../group-rules/edges.ts'
import { ruleNotFound, targetViewSlot } from '../slots.ts'
import type { RuleRecord, Values } from './rule-record.ts'
import { etagsOf } from './rule-resource.ts'
import type { Filter } from './schema.ts'
import { shownOf, shownStates } from './shown-states.ts'

interface Services extends Pick<Kernel, 'store' | 'filled'> {
  readonly fields: Fields
  readonly closings: Pick<ClosedRules, 'reasonOf'>
}

export type RuleReader = ReturnType<typeof openRuleReader>

export function openRuleReader(services: Services) {
  /** Throws `rule_not_found` or `not_owner`. */
  async function find(id: string, { role, userId }: Principal, em: EntityManager): Promise<Rule> {
    const rule = await em.findOne(Rule, { id })
    const hasWholes = services.fields.placing() !== undefined
    if (!rule || (isGroupRule(rule) && !hasWholes)) throw new Fault(ruleNotFound, `there is no rule ${id}`)
    if (role !== 'superadmin' && rule.owner !== userId)
      throw new Fault(notOwner, `rule ${id} belongs to another user`)
    if (rule.parent != null && hasWholes) throw partNotFound(rule, rule.parent)
    return rule
  }

  /** Returns one rule as its owner or a superadmin sees it; throws `rule_not_found` or `not_owner`. */
  const read = (id: string, principal: Principal): Promise<RuleRecord> =>
    services.store.read(async em => recordOf(await find(id, principal, em), em))

  async function recordOf(rule: Rule, em: EntityManager): Promise<RuleRecord> {
    const [record] = await recordsOf([rule], services, em)
    if (!record) throw new TypeError(`rule ${rule.id} has no record`)
    return record
  }

  /** Lists rules in the order of creation. */
  function list(filter: Filter, principal: Principal): PagedRows<RuleRecord> {
    const { role, userId } = principal
    if (role !== 'superadmin' && filter.owner !== undefined && filter.owner !== userId)
      throw new Fault(notOwner, 'only a superadmin may list the rules of another user')
    return {
      async page(after, take, em) {
        const where = { id: { $gt: after }, ...(await matching(services, filter, principal, em)) }
        const page: object = { orderBy: { id: 'asc' }, limit: take, fields: shownColumns }
        const rules: ShownRule[] = await em.find(Rule, where, page)
        return (await recordsOf(rules, services, em)).map(row => ({ key: row.rule_id, row }))
      }
    }
  }

  /** Returns the ids of at most `take` rules that the list has and that are not being removed. */
  const idsOf = (filter: Filter, principal: Principal, take: number): Promise<string[]> =>
    services.store.read(async em => {
      const where = {
        state: { $ne: 'draining' as const },
        ...(await matching(services, filter, principal, em))
      }
      const rules = await em.find(Rule, where, { orderBy: { id: 'asc' }, limit: take, fields: ['id'] })
      return rules.map(({ id }) => id)
    })

  return { find, read, recordOf, list, idsOf }
}

const partNotFound = ({ id }: Rule, whole: string): Fault =>
  new Fault(ruleNotFound, `${id} is the part of rule ${whole} on one client; give the id of the rule`, {
    details: { rule_id: whole }
  })

/** Nearly all rules: said so that a store does not read and sort them by the index of parents to find a page. */
const noPart = { $not: { parent: { $ne: null } } }

/** The rules of an owner in the order of a page, which the index of owners has; of some clients they are found by these. */
const ownedBy = (owner: string, isOfClients: boolean): object =>
  isOfClients
    ? { $not: { $or: [{ parent: { $ne: null } }, { owner: { $ne: owner } }] } }
    : { parent: null, owner }

/** Returns a condition for the rules that the filter leaves and the caller may see. */
async function matching(
  { filled, fields }: Services,
  { client, owner, ...more }: Filter,
  { role, userId }: Principal,
  em: EntityManager
) {
  const seen = role === 'superadmin' ? owner : userId
  const onEach = { ...onClients, ...(seen !== undefined && { owner: seen }) }
  const shown = seen === undefined ? noPart : ownedBy(seen, client !== undefined)
  return {
    ...listFilters.where(filled(listFilterSlots.rule), more),
    ...(fields.placing() ? shown : onEach),
    ...(client !== undefined && (await onOne(client, em)))
  }
}

/** Returns a condition for rules of the client, and of several clients with this one among them. */
async function onOne(client: string, em: EntityManager): Promise<object> {
  const clientId = { $in: await clientIds(client, em) }
  const parts = await em.find(Rule, { clientId, parent: { $ne: null } }, { fields: ['parent'] })
  const refused = await em.find(RefusedMember, { clientId }, { fields: ['parent'] })
  const parents = [...parts, ...refused].flatMap(({ parent }) => parent ?? [])
  if (parents.length === 0) return { clientId } // with a second condition that no rule meets, SQLite reads all rules
  return { $or: [{ clientId }, { id: { $in: [...new Set(parents)] } }] }
}

async function clientIds(client: string, em: EntityManager): Promise<string[]> {
  return (await em.find(Client, clientsNamed(client), { fields: ['id'] })).map(({ id }) => id)
}

async function recordsOf(
  rules: readonly ShownRule[],
  { filled, fields, closings }: Services,
  em: EntityManager
): Promise<RuleRecord[]> {
  const clientIds = [...new Set(rules.map(({ clientId }) => clientId))]
  const clients = await em.find(Client, { id: { $in: clientIds } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  const values = await fields.load(rules, em)
  const views = filled(targetViewSlot).map(({ value }) => [value.key, value.load(rules)] as const)
  const etags = await etagsOf(rules, values, filled, em)
  const shown = await shownStates(filled, rules, em)
  const edges = await edgesOf(rules, { shown, closings }, em)
  const unplaced = fields.placing() && { edges: null }
  return rules.map(rule => ({
    ...coreRecordOf(rule, names),
    ...unplaced,
    etag: etags.get(rule.id) ?? '',
    ...(edges.get(rule.id) ?? shownOf(rule, shown.get(rule.id), closings.reasonOf(rule))),
    targets: targetsOf(rule, views),
    ...fields.shown(values.get(rule.id) ?? {})
  }))
}

type Views = readonly (readonly [string, ReadonlyMap<string, readonly unknown[]>])[]

const targetsOf = ({ id, targets, listenFrom, listenTo }: ShownRule, views: Views) =>
  targets.map((target, index) => {
    const port_end = listenTo > listenFrom ? target.port + listenTo - listenFrom : null
    const own = { ...target, weight: target.weight ?? 1, port_end }
    const shown: typeof own & Values = own
    for (const [key, view] of views) Object.assign(shown, { [key]: view.get(id)?.[index] })
    return shown
  })

const coreRecordOf = (rule: ShownRule, names: ReadonlyMap<string, string>) => ({
  rule_id: rule.id,
  client_id: isGroupRule(rule) ? null : rule.clientId,
  client_name: isGroupRule(rule) ? null : (names.get(rule.clientId) ?? ''),
  listen_port: rule.listenFrom,
  listen_port_end: rule.listenTo > rule.listenFrom ? rule.listenTo : null,
  protocol: rule.protocol,
  prefer_ipv6: rule.preferIpv6,
  owner: rule.owner,
  placed_by: rule.placedBy,
  paused: rule.paused,
  created_at: timestamp(rule.createdAt),
  updated_at: timestamp(rule.updatedAt),
  state_changed_at: timestamp(rule.stateChangedAt)
})
