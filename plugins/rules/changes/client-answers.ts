// Waits for the answers of clients, and turns them into the reply of the request.
import type { EntityManager } from '@mikro-orm/sql'
import { ackTimeout, defineCode, Fault } from '../../../kernel/base/errors.ts'
import type { ApplyResult, Delivery } from '../../../kernel/control/managed-objects.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { ruleNotFound } from '../codes.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import type { Rule } from '../entities.ts'
import { portInUse } from './insert-rules.ts'

export const activationFailed = defineCode('activation_failed', 422, 6)

/** Agents apply rules one after another, so many rules get more time. */
export const defaultAckSecs = (rules: number): number => Math.min(60, 5 + Math.floor(rules / 20))

/** A rule with a change that its client must answer. */
export interface SentRule {
  readonly rule: Rule
  readonly delivery: Delivery
}

/** Call it in the change, after the rules were sent or removed. */
export async function collectAnswers(
  { objects }: Pick<Kernel['control'], 'objects'>,
  rules: readonly Rule[],
  change: 'push' | 'remove',
  em: EntityManager
): Promise<SentRule[]> {
  const deliveries = await objects.deliverAll(em, rules.map(objectKeyOf), change)
  return rules.flatMap((rule, at) => {
    const delivery = deliveries[at]
    return delivery ? [{ rule, delivery }] : []
  })
}

export interface Answer {
  readonly rule: Rule
  readonly result: ApplyResult | null // null: no answer came
}

/** Waits for the answers of connected clients, and wakes the others. */
export function waitForAnswers(
  { peers, objects }: Pick<Kernel['control'], 'peers' | 'objects'>,
  sent: readonly SentRule[],
  ackSecs: number
): Promise<Answer[]> {
  const isConnected = ({ rule: { clientId } }: SentRule): boolean => peers.find(clientId) !== undefined
  const connected = sent.filter(isConnected)
  for (const one of sent) if (!connected.includes(one)) objects.wake(one.rule.clientId)
  return Promise.all(
    connected.map(async ({ rule, delivery }) => ({ rule, result: await delivery.answered(ackSecs) }))
  )
}

/** Throws unless all clients have answered. The record of the rule shows refusals. */
export function requireAnswers(ruleId: string, answers: readonly Answer[], ackSecs: number): void {
  const silent = answers.filter(({ result }) => result === null)
  if (silent.length === 0) return
  const message = `${silent.length} of ${answers.length} clients have not answered (${ackSecs} s, or their streams ended); the server keeps trying`
  const edges = silent.map(({ rule: { clientId } }) => ({ client_id: clientId }))
  throw new Fault(ackTimeout, message, { details: { rule_id: ruleId, edges } })
}

/** Throws unless the client has applied the change. `whenRefused` adds details to a refusal. */
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

export const removedWhileWaiting = (id: string): Fault =>
  new Fault(ruleNotFound, `rule ${id} was removed before its client answered`, {
    details: { rule_id: id }
  })
