// The reply to a request that waited for a client.
import { ackTimeout, defineCode, Fault } from '../../kernel/base/errors.ts'
import type { ApplyResult } from '../../kernel/control/managed-objects.ts'
import { portInUse } from './new-rule.ts'
import { ruleNotFound } from './slots.ts'

export const activationFailed = defineCode('activation_failed', 422, 6)

export const defaultAckSecs = 5

/**
 * Throws unless the client has applied the change; null means that no answer came. `whenRefused`: more details of a
 * refusal.
 */
export function requireApplied(
  answer: ApplyResult | null,
  ruleId: string,
  ackSecs: number,
  whenRefused?: { readonly rule_state: 'failed' }
): void {
  const details = { rule_id: ruleId }
  if (!answer) {
    const message = `the client has not answered (${ackSecs} s, or its stream ended); the server keeps trying`
    throw new Fault(ackTimeout, message, { details })
  }
  if (answer.status !== 'refused') return
  const refused = { ...details, ...whenRefused }
  if (answer.code === portInUse.code) throw new Fault(portInUse, answer.message, { details: refused })
  throw new Fault(activationFailed, answer.message, { details: { ...refused, reason: answer.code } })
}

export const removedMeanwhile = (id: string): Fault =>
  new Fault(ruleNotFound, `rule ${id} was removed before its client had answered`, {
    details: { rule_id: id }
  })
