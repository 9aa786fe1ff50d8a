// Sends rules to agents.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import { defineObjectKind, type ManagedObject } from '../../../kernel/control/managed-objects.ts'
import { Rule } from '../entities.ts'
import type { Encoded } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { RulePush, RuleRemove, RulesOpen, ruleKind } from '../wire.ts'
import { openAgentResults } from './agent-results.ts'
import { logFailedCheck, sendRefusal } from './reconciliation.ts'
import { isInForce, objectKeyOf, runAll } from './rule-states.ts'

export const openRuleDelivery = (services: Services) =>
  defineObjectKind({
    kind: ruleKind,
    push: RulePush,
    remove: RuleRemove,
    load: (rows, em) => load(services, rows, em),
    owners: loadOwners,
    complete: RulesOpen,
    removal: ({ id, revision, removal }) => ({ rule_id: id, revision, removal: removal ?? 'cut' }),
    ...openAgentResults(services)
  })

async function loadOwners(rows: readonly ManagedObject[], em: EntityManager): Promise<Map<string, string>> {
  const found = await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } }, { fields: ['id', 'owner'] })
  return new Map(found.map(({ id, owner }) => [id, owner]))
}

const loadRules = (rows: readonly ManagedObject[], em: EntityManager): Promise<Rule[]> =>
  em.find(Rule, { id: { $in: rows.map(({ id }) => id) } })

async function load(services: Services, rows: readonly ManagedObject[], em: EntityManager) {
  const { fields, parts } = services
  const stored = (await loadRules(rows, em)).filter(rule => !sendRefusal(services, rule))
  const awaited = await parts.awaited(
    stored.map(({ id }) => id),
    em
  )
  const held = stored.filter(({ id }) => awaited.has(id))
  const free = stored.filter(({ id }) => !awaited.has(id))
  const before = new Map(held.map(({ id, before }) => [id, before?.values ?? {}]))
  const rules = [...free, ...held.flatMap(rule => heldDefinition(services, rule))]
  const encoded = await fields.encodeAll(rules, em, before)
  const bodies = new Map<string, RulePush>()
  for (const row of rows) {
    const { id } = row
    const rule = rules.find(rule => rule.id === id)
    const fields = encoded.get(id)
    if (!rule || !fields) continue
    if (fields instanceof Fault) failUnencodable(services, rule, row.revision, fields)
    else bodies.set(id, toPush(rule, row, fields))
  }
  return bodies
}

/** Returns what the client of a held rule has: the rule before its pending changes, or nothing. */
function heldDefinition({ fields }: Services, rule: Rule): Rule[] {
  const { before, movedFrom, movedTo } = rule
  if (before == null) return isInForce(rule) ? [rule] : []
  const ports = { listenFrom: movedFrom ?? rule.listenFrom, listenTo: movedTo ?? rule.listenTo }
  return [{ ...rule, ...before.rule, ...ports, fields: fields.keysWith(rule, before.values) }]
}

/** Marks a rule failed that cannot be encoded. It has its own transaction, because `load` only reads. */
function failUnencodable(
  services: Services,
  { id, clientId, stateReason }: Rule,
  revision: number,
  { errorCode: { code }, message, cause }: Fault
): void {
  if (stateReason === code) return
  const { store, states, control } = services
  const failed = store.change(async em => {
    const rule = await em.findOne(Rule, { id, state: { $ne: 'draining' } })
    const error = String(cause ?? message)
    return rule ? [await states.fail(rule, { code, error }, em)] : []
  })
  failed.then(
    after => {
      runAll(after)
      control.objects.refuse({ ...objectKeyOf({ clientId, id }), revision }, { code, message })
      control.objects.wake(clientId)
    },
    error => logFailedCheck(services, error, clientId, id)
  )
}

const toPush = (rule: Rule, { revision, isDeferred = false }: ManagedObject, fields: Encoded): RulePush => ({
  rule_id: rule.id,
  revision,
  owner: rule.owner,
  protocol: rule.protocol,
  listen_from: rule.listenFrom,
  listen_to: rule.listenTo,
  targets: rule.targets.map(({ host, port, priority }) => ({ host, port, priority })),
  prefer_ipv6: rule.preferIpv6,
  fields,
  retry: isRetried(rule),
  ...(rule.paused && { paused: true }),
  ...(rule.existing != null && rule.existing !== 'keep' && { existing: rule.existing }),
  ...(isDeferred && isRetried(rule) && { deferred: true })
})

/** If false, the agent refuses a change as a whole, and keeps the rule that it has. */
const isRetried = ({ activatedAt, before }: Rule): boolean => activatedAt != null && before == null
