// Reads rules as their owners see them, and callers who see all.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Clients } from '../../clients/exports.ts'
import { listFilterSlots, listFilters, type PagedRows, seesAll } from '../../http/exports.ts'
import { clientCondition } from '../changes/placement.ts'
import { ruleNotFound } from '../codes.ts'
import type { ClosedRules } from '../delivery/closed-rules.ts'
import type { DerivedParts } from '../derived/derived-parts.ts'
import { isGroupRule, onClients, RefusedMember, Rule, type ShownRule, shownColumns } from '../entities.ts'
import type { Fields } from '../fields/fields.ts'
import { targetProperties, withoutPaths } from '../fields/target-values.ts'
import { loadEdges } from '../group-rules/edges.ts'
import { targetViewSlot } from '../slots.ts'
import { throughCondition } from './path-queries.ts'
import type { RuleRecord, Values } from './rule-record.ts'
import { ruleEtag } from './rule-resource.ts'
import type { Filter } from './schema.ts'
import { shownStates, toShownState } from './shown-states.ts'

interface Services extends Pick<Kernel, 'store' | 'filled'> {
  readonly fields: Fields
  readonly closedRules: Pick<ClosedRules, 'reason'>
  readonly parts: Pick<DerivedParts, 'pendingReasons'>
  readonly clients: Pick<Clients, 'visibleIds'>
}

export interface RuleReader {
  /** Returns the row of a rule; throws `rule_not_found` or `not_owner`. */
  find(id: string, principal: Principal, em: EntityManager): Promise<Rule>
  /** Returns a rule as the caller sees it; throws `rule_not_found` or `not_owner`. */
  read(id: string, principal: Principal): Promise<RuleRecord>
  /** Returns the record of a row, and does not check who may see it. */
  loadRecord(rule: Rule, em: EntityManager): Promise<RuleRecord>
  /** Lists rules in the order of creation; throws `not_owner`. */
  list(filter: Filter, principal: Principal): PagedRows<RuleRecord>
  /** Returns the ids of at most `take` rules of the list, without those that are being removed. */
  listIds(filter: Filter, principal: Principal, take: number): Promise<string[]>
}

export function openRuleReader(services: Services): RuleReader {
  async function find(id: string, caller: Principal, em: EntityManager): Promise<Rule> {
    const rule = await em.findOne(Rule, { id })
    const hasGroupRules = services.fields.placing() !== undefined
    if (!rule || (isGroupRule(rule) && !hasGroupRules))
      throw new Fault(ruleNotFound, `there is no rule ${id}`)
    if (!seesAll(caller) && rule.owner !== caller.userId)
      throw new Fault(notOwner, `rule ${id} belongs to another user`)
    if (rule.parent != null && hasGroupRules) throw memberNotFound(rule, rule.parent)
    return rule
  }

  const read = (id: string, principal: Principal): Promise<RuleRecord> =>
    services.store.read(async em => loadRecord(await find(id, principal, em), em))

  async function loadRecord(rule: Rule, em: EntityManager): Promise<RuleRecord> {
    const [record] = await loadRecords([rule], services, em)
    if (!record) throw new TypeError(`rule ${rule.id} has no record`)
    return record
  }

  function list(filter: Filter, principal: Principal): PagedRows<RuleRecord> {
    if (!seesAll(principal) && filter.owner !== undefined && filter.owner !== principal.userId)
      throw new Fault(notOwner, 'your role allows you to list only your own rules')
    return {
      async page(after, take, em) {
        const where = { id: { $gt: after }, ...(await filterCondition(services, filter, principal, em)) }
        const page: object = { orderBy: { id: 'asc' }, limit: take, fields: shownColumns }
        const rules: ShownRule[] = await em.find(Rule, where, page)
        return (await loadRecords(rules, services, em)).map(row => ({ key: row.rule_id, row }))
      }
    }
  }

  const listIds = (filter: Filter, principal: Principal, take: number): Promise<string[]> =>
    services.store.read(async em => {
      const where = {
        state: { $ne: 'draining' as const },
        ...(await filterCondition(services, filter, principal, em))
      }
      const rules = await em.find(Rule, where, { orderBy: { id: 'asc' }, limit: take, fields: ['id'] })
      return rules.map(({ id }) => id)
    })

  return { find, read, loadRecord, list, listIds }
}

const memberNotFound = ({ id }: Rule, parent: string): Fault =>
  new Fault(ruleNotFound, `${id} is a member of group rule ${parent}; give the id of the group rule`, {
    details: { rule_id: parent }
  })

/** Matches nearly all rules. In this form, the store does not sort them by the index of parents to find a page. */
const isNotMember = { $not: { parent: { $ne: null } } }

/** Lets the store find the rules by the index of clients if a filter names some, else by the index of owners. */
const ownerCondition = (owner: string, hasClients: boolean): object =>
  hasClients
    ? { $not: { $or: [{ parent: { $ne: null } }, { owner: { $ne: owner } }] } }
    : { parent: null, owner }

/** Returns a condition for the rules that match the filter and that the user may see. */
async function filterCondition(
  { filled, fields, clients }: Services,
  { client, owner, name, port, via, ...more }: Filter,
  caller: Principal,
  em: EntityManager
) {
  const seen = seesAll(caller) ? owner : caller.userId
  const onEach = { ...onClients, ...(seen !== undefined && { owner: seen }) }
  const shown = seen === undefined ? isNotMember : ownerCondition(seen, client !== undefined)
  return {
    ...listFilters.where(filled(listFilterSlots.rule), more),
    ...(fields.placing() ? shown : onEach),
    ...(name !== undefined && { name }),
    ...(port !== undefined && { listenFrom: { $lte: port }, listenTo: { $gte: port } }),
    ...(via !== undefined && {
      $and: [throughCondition(await visibleClients(via, { clients, caller, em }), filled)]
    }),
    ...(client !== undefined && (await onClientCondition(client, em)))
  }
}

interface Asked {
  readonly clients: Pick<Clients, 'visibleIds'>
  readonly caller: Principal
  readonly em: EntityManager
}

/** Returns the ids of the clients with this id or name that the caller may see. */
async function visibleClients(client: string, { clients, caller, em }: Asked): Promise<string[]> {
  const found = await loadClientIds(client, em)
  const visible = seesAll(caller) ? 'all' : await clients.visibleIds(caller.userId, em)
  return visible === 'all' ? found : found.filter(id => visible.includes(id))
}

/** Returns a condition for rules on the client, and for group rules with a member there. */
async function onClientCondition(client: string, em: EntityManager): Promise<object> {
  const clientId = { $in: await loadClientIds(client, em) }
  const members = await em.find(Rule, { clientId, parent: { $ne: null } }, { fields: ['parent'] })
  const refused = await em.find(RefusedMember, { clientId }, { fields: ['parent'] })
  const parents = [...members, ...refused].flatMap(({ parent }) => parent ?? [])
  if (parents.length === 0) return { clientId } // with a second condition that no rule meets, SQLite reads all rules
  return { $or: [{ clientId }, { id: { $in: [...new Set(parents)] } }] }
}

async function loadClientIds(client: string, em: EntityManager): Promise<string[]> {
  return (await em.find(Client, clientCondition(client), { fields: ['id'] })).map(({ id }) => id)
}

async function loadRecords(
  rules: readonly ShownRule[],
  { filled, fields, closedRules, parts }: Services,
  em: EntityManager
): Promise<RuleRecord[]> {
  const clientIds = [...new Set(rules.map(({ clientId }) => clientId))]
  const clients = await em.find(Client, { id: { $in: clientIds } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  const values = await fields.load(rules, em)
  const views = filled(targetViewSlot).map(({ value }) => [value.key, value.load(rules)] as const)
  const shown = await shownStates(filled, rules, em)
  const edges = await loadEdges(rules, { shown, closedRules, parts }, em)
  const waiting = rules.map(rule => ({ ...rule, isPending: rule.before != null }))
  const pending = await parts.pendingReasons(waiting, em)
  const unplaced = fields.placing() && { edges: null }
  return rules.map(rule => ({
    ...coreRecord(rule, names),
    ...unplaced,
    etag: ruleEtag(rule, values.get(rule.id) ?? {}, filled),
    ...(edges.get(rule.id) ??
      toShownState(rule, shown.get(rule.id), {
        closed: closedRules.reason(rule),
        pending: pending.get(rule.id)
      })),
    targets: shownTargets(rule, views, index => targetProperties(filled, values.get(rule.id) ?? {}, index)),
    ...fields.shown(values.get(rule.id) ?? {})
  }))
}

type Views = readonly (readonly [string, ReadonlyMap<string, readonly unknown[]>])[]

const shownTargets = (
  { id, targets, listenFrom, listenTo }: ShownRule,
  views: Views,
  propertiesOf: (index: number) => Values
) =>
  withoutPaths(targets).map((target, index) => {
    const port_end = listenTo > listenFrom ? target.port + listenTo - listenFrom : null
    const own = { ...target, weight: target.weight ?? 1, port_end, ...propertiesOf(index) }
    const shown: typeof own & Values = own
    for (const [key, view] of views) Object.assign(shown, { [key]: view.get(id)?.[index] })
    return shown
  })

const coreRecord = (rule: ShownRule, names: ReadonlyMap<string, string>) => ({
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
  change_pending: rule.before != null,
  created_at: timestamp(rule.createdAt),
  updated_at: timestamp(rule.updatedAt),
  state_changed_at: timestamp(rule.stateChangedAt)
})
