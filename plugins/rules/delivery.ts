// Sends rules to agents.
import type { EntityManager } from '@mikro-orm/sql'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { defineObjectKind, type ManagedObject } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Encoded } from './encoding.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { openOrder } from './order.ts'
import { openResults } from './results.ts'
import { objectKeyOf, type RuleStates, runAll } from './rule-states.ts'
import type { AfterCommit } from './service.ts'
import { RulePush, RuleRemove, ruleKind } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'control' | 'log' | 'filled'> {
  readonly fields: Fields
  readonly states: RuleStates
}

export function openDelivery(services: Services) {
  const kind = defineObjectKind({
    kind: ruleKind,
    push: RulePush,
    remove: RuleRemove,
    load: (rows, em) => load(services, rows, em),
    order: openOrder(services.filled),
    removal: ({ id, revision, removal }) => ({ rule_id: id, revision, removal: removal ?? 'cut' }),
    ...openResults(services)
  })
  return { kind, joined: (peer: Peer) => failUnsupported(services, peer) }
}

/** The rules that the client cannot take become failed: its agent may have been replaced by an older version. */
function failUnsupported(services: Services, { clientId }: Peer): void {
  const { store, log, states } = services
  const checked = store.change(async em => {
    const after: AfterCommit[] = []
    for (const rule of await em.find(Rule, { clientId, state: { $in: ['pending', 'active'] } })) {
      const refusal = refusalOf(services, rule)
      if (!refusal) continue
      const { code } = refusal.errorCode
      const fields = { rule: rule.id, client: clientId, code }
      after.push(
        () => log.warn('rule.unsupported', refusal.message, fields),
        await states.fail(rule, { code }, em)
      )
    }
    return after
  })
  checked.then(runAll, error => logUnchecked(services, error, clientId))
}

async function load(services: Services, rows: readonly ManagedObject[], em: EntityManager) {
  const found = await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } })
  const rules = found.filter(rule => !refusalOf(services, rule))
  const encoded = await services.fields.encodeAll(rules, em)
  const bodies = new Map<string, RulePush>()
  for (const { id, revision } of rows) {
    const rule = rules.find(rule => rule.id === id)
    const fields = encoded.get(id)
    if (!rule || !fields) continue
    if (fields instanceof Fault) failUnencodable(services, rule, fields)
    else bodies.set(id, pushOf(rule, revision, fields))
  }
  return bodies
}

/** Returns why the rule is not sent: a part of it is missing, or the connected agent does not support one. */
function refusalOf({ fields, control }: Services, rule: Rule): Fault | null {
  const peer = control.peers.find(rule.clientId)
  return fields.missingPart(rule) ?? (peer ? fields.unsupported(rule, peer) : null)
}

/** The rule is not sent and becomes failed, in a transaction of its own: `load` only reads. */
function failUnencodable(
  services: Services,
  rule: Rule,
  { errorCode: { code }, message, cause }: Fault
): void {
  const { store, states, control } = services
  const { id, clientId, stateReason } = rule
  if (stateReason === code) return
  const failed = store.change(async em => {
    const rule = await em.findOne(Rule, { id, state: { $ne: 'draining' } })
    const error = String(cause ?? message)
    return rule ? [await states.fail(rule, { code, error }, em)] : []
  })
  failed.then(
    after => {
      runAll(after)
      control.objects.refuse(objectKeyOf({ clientId, id }), { code, message })
      control.objects.wake(clientId)
    },
    error => logUnchecked(services, error, clientId, id)
  )
}

const logUnchecked = ({ log }: Services, error: unknown, client: string, rule?: string): void =>
  log.error('rule.unjudged', String(error), { client, rule, ...attributionOf(error) })

const pushOf = (rule: Rule, revision: number, fields: Encoded): RulePush => ({
  rule_id: rule.id,
  revision,
  owner: rule.owner,
  protocol: rule.protocol,
  listen_from: rule.listenFrom,
  listen_to: rule.listenTo,
  targets: [...rule.targets],
  prefer_ipv6: rule.preferIpv6,
  fields,
  // The agent refuses a change of hot fields as a whole, and keeps the rule that it had.
  retry: rule.activatedAt != null && rule.valuesBefore == null
})
