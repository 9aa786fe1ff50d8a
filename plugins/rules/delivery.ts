// What the agents are told of rules, and what their answers make of a rule.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { Fault } from '../../kernel/base/errors.ts'
import {
  type ApplyResult,
  defineObjectKind,
  type ManagedObject
} from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Encoded } from './encoding.ts'
import { Rule } from './entities.ts'
import { keysWith } from './field-values.ts'
import type { Fields } from './fields.ts'
import { portInUse } from './new-rule.ts'
import { openOrder } from './order.ts'
import { objectKeyOf, type RuleStates, runAll } from './rule-states.ts'
import type { AfterCommit } from './service.ts'
import { RulePush, RuleRemove, ruleKind } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'control' | 'log' | 'filled'> {
  readonly fields: Fields
  readonly states: RuleStates
}

export function openDelivery({ store, control, log, filled, fields, states }: Services) {
  const notices = new WeakMap<ManagedObject, AfterCommit>() // of words that are written down and not yet committed

  /** A client that cannot do what a rule needs is not asked to: it may have been made older than it was. */
  const refusalOf = (rule: Rule): Fault | null => {
    const peer = control.peers.find(rule.clientId)
    return fields.missingPart(rule) ?? (peer ? fields.unsupported(rule, peer) : null)
  }

  const unjudged = (error: unknown, client: string, rule?: string): void =>
    log.error('rule.unjudged', String(error), { client, rule, ...attributionOf(error) })

  function joined({ clientId }: Peer): void {
    const judged = store.change(async em => {
      const said: AfterCommit[] = []
      for (const rule of await em.find(Rule, { clientId, state: { $in: ['pending', 'active'] } })) {
        const refusal = refusalOf(rule)
        if (!refusal) continue
        const { code } = refusal.errorCode
        const fields = { rule: rule.id, client: clientId, code }
        said.push(
          () => log.warn('rule.unsupported', refusal.message, fields),
          await states.fail(rule, { code }, em)
        )
      }
      return said
    })
    judged.then(runAll, error => unjudged(error, clientId))
  }

  async function load(rows: readonly ManagedObject[], em: EntityManager) {
    const found = await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } })
    const rules = found.filter(rule => !refusalOf(rule))
    const encoded = await fields.encodeAll(rules, em)
    const bodies = new Map<string, Static<(typeof RulePush)['body']>>()
    for (const { id, revision } of rows) {
      const rule = rules.find(rule => rule.id === id)
      const fields = encoded.get(id)
      if (!rule || !fields) continue
      if (fields instanceof Fault) leaveOut(rule, fields)
      else bodies.set(id, pushOf(rule, revision, fields))
    }
    return bodies
  }

  /** It is not sent. It fails in a transaction of its own, because whoever loads only reads. */
  function leaveOut(
    { id, clientId, stateReason }: Rule,
    { errorCode: { code }, message, cause }: Fault
  ): void {
    if (stateReason === code) return
    const failed = store.change(async em => {
      const rule = await em.findOne(Rule, { id, state: { $ne: 'draining' } })
      const error = String(cause ?? message)
      return rule ? [await states.fail(rule, { code, error }, em)] : []
    })
    failed.then(
      said => {
        runAll(said)
        control.objects.refuse(objectKeyOf({ clientId, id }), { code, message })
        control.objects.wake(clientId)
      },
      error => unjudged(error, clientId, id)
    )
  }

  async function settle(row: ManagedObject, settlement: ApplyResult, em: EntityManager): Promise<void> {
    const { id, removal } = row
    // Words come in groups, several on one rule: what the map of this `em` keeps may be behind.
    const rule = await em.findOne(Rule, { id }, { disableIdentityMap: true })
    const say = (notice: AfterCommit): void => void notices.set(row, notice)
    if (!rule) return
    if (rule.state === 'draining') {
      if (removal !== null && settlement.status === 'removed') say(await states.remove(rule, em))
      return
    }
    if (removal !== null) return
    if (settlement.status === 'applied') {
      if (rule.valuesBefore != null) await em.nativeUpdate(Rule, { id }, { valuesBefore: null })
      say(await states.enter(rule, { state: 'active' }, em))
    }
    if (settlement.status === 'refused') say(await refused(rule, settlement.code, em))
  }

  /** A change of hot fields that the agent refuses is taken back; what cannot be opened is tried again. */
  async function refused(rule: Rule, code: string, em: EntityManager): Promise<AfterCommit> {
    const { id, clientId, valuesBefore = null } = rule
    if (valuesBefore === null) return states.fail(rule, { code }, em)
    const isBack = code !== portInUse.code
    if (isBack) await fields.replaceHot(rule, valuesBefore, em)
    const keys = isBack ? keysWith(rule, valuesBefore) : rule.fields
    await em.nativeUpdate(Rule, { id }, { fields: keys, valuesBefore: null })
    await control.objects.put(em, objectKeyOf(rule))
    const failed = isBack ? null : await states.fail(rule, { code }, em)
    return () => {
      failed?.()
      if (isBack)
        log.warn('rule.change_refused', 'the client keeps what was before', {
          rule: id,
          client: clientId,
          code
        })
      control.objects.wake(clientId)
    }
  }

  function settled(row: ManagedObject): void {
    notices.get(row)?.()
    notices.delete(row)
  }

  const kind = defineObjectKind({
    kind: ruleKind,
    push: RulePush,
    remove: RuleRemove,
    load,
    order: openOrder(filled),
    removal: ({ id, revision, removal }) => ({ rule_id: id, revision, removal: removal ?? 'cut' }),
    recordResult: settle,
    resultRecorded: settled
  })

  return { kind, joined }
}

const pushOf = (rule: Rule, revision: number, fields: Encoded) => ({
  rule_id: rule.id,
  revision,
  owner: rule.owner,
  protocol: rule.protocol,
  listen_from: rule.listenFrom,
  listen_to: rule.listenTo,
  targets: [...rule.targets],
  prefer_ipv6: rule.preferIpv6,
  fields,
  // A change of hot fields is refused as a whole: the agent keeps what it had.
  retry: rule.activatedAt != null && rule.valuesBefore == null
})
