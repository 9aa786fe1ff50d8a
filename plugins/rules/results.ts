// Changes the state of a rule by the results of its agent.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../kernel/control/managed-objects.ts'
import { Rule } from './entities.ts'
import { keysWith, server } from './fields.ts'
import { portInUse } from './new-rule.ts'
import { refusalOf } from './reconciliation.ts'
import { undoReplacement } from './replace.ts'
import { type AfterCommit, objectKeyOf } from './rule-states.ts'
import type { Services } from './services.ts'

export function openResults(services: Services): Pick<ObjectKind, 'recordResult' | 'resultRecorded'> {
  const { states } = services
  const afterCommit = new WeakMap<ManagedObject, AfterCommit>()

  async function record({ id, removal }: ManagedObject, result: ApplyResult, em: EntityManager) {
    // One transaction may have several results of a rule: the identity map may be out of date.
    const rule = await em.findOne(Rule, { id }, { disableIdentityMap: true })
    if (!rule) return null
    if (rule.state === 'draining')
      return removal !== null && result.status === 'removed' ? states.remove(rule, em) : null
    if (removal !== null) return null
    // An agent that has lost a capability refuses a field as unknown: the rule fails with the code of the capability.
    if (result.status === 'refused')
      return refused(services, rule, refusalOf(services, rule)?.errorCode.code ?? result.code, em)
    if (result.status !== 'applied') return null
    if (rule.valuesBefore != null || rule.definitionBefore != null)
      await em.nativeUpdate(Rule, { id }, { valuesBefore: null, definitionBefore: null })
    return states.enter(rule, { state: 'active' }, em)
  }

  return {
    async recordResult(row, result, em) {
      const after = await record(row, result, em)
      if (after) afterCommit.set(row, after)
    },
    resultRecorded(row) {
      afterCommit.get(row)?.()
      afterCommit.delete(row)
    }
  }
}

/**
 * Records a refusal: the rule fails. A refused replacement is undone. A refused change of hot fields is undone, unless the port is in use: then the
 * agent retries the new rule.
 */
async function refused(
  services: Services,
  rule: Rule,
  code: string,
  em: EntityManager
): Promise<AfterCommit> {
  const { control, log, fields, states } = services
  const { id, clientId, valuesBefore = null, definitionBefore = null } = rule
  const details = { rule: id, client: clientId, code }
  if (definitionBefore !== null) {
    await undoReplacement(services, rule, em)
    await control.objects.put(em, objectKeyOf(rule))
    return () => {
      log.warn('rule.replacement_refused', 'the client keeps the earlier rule', details)
      control.objects.wake(clientId)
    }
  }
  if (valuesBefore === null) return states.fail(rule, { code }, em)
  const isUndone = code !== portInUse.code
  if (isUndone) await fields.replaceHot(rule, valuesBefore, { principal: server, em })
  const keys = isUndone ? keysWith(rule, valuesBefore) : rule.fields
  await em.nativeUpdate(Rule, { id }, { fields: keys, valuesBefore: null })
  await control.objects.put(em, objectKeyOf(rule))
  const failed = isUndone ? null : await states.fail(rule, { code }, em)
  return () => {
    failed?.()
    if (isUndone) log.warn('rule.change_refused', 'the client keeps the earlier values', details)
    control.objects.wake(clientId)
  }
}
