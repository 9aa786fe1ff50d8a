// Waits for the answers of clients, and turns them into the reply of the request.
import type { EntityManager } from '@mikro-orm/sql'
import { ackTimeout, Fault } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { activationFailed, ruleNotFound } from '../codes.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import { openHeldDelivery, type RuleAnswer, type RuleDelivery } from '../derived/held-rule.ts'
import type { Rule } from '../entities.ts'
import type { Services } from '../services.ts'
import { portInUse } from './insert-rules.ts'

/** Agents apply rules one by one, so many rules get more time. */
export const defaultAckSecs = (rules: number): number => Math.min(60, 5 + Math.floor(rules / 20))

/** A rule with a change that its client must answer. */
export interface SentRule {
  readonly rule: Rule
  readonly delivery: RuleDelivery
}

/** Call it in the change, after the rules were sent or removed. Nobody waits for a rule that is held by an offline client. */
export async function collectAnswers(
  services: Services,
  rules: readonly Rule[],
  change: 'push' | 'remove',
  em: EntityManager
): Promise<SentRule[]> {
  const { control, parts } = services
  const awaited = await parts.awaited(change === 'push' ? rules.map(({ id }) => id) : [], em)
  const free = rules.filter(({ id }) => !awaited.has(id))
  const deliveries = await control.objects.deliverAll(em, free.map(objectKeyOf), change)
  const sent: SentRule[] = free.flatMap((rule, at) => {
    const delivery = deliveries[at]
    return delivery ? [{ rule, delivery }] : []
  })
  for (const rule of rules) {
    const keys = awaited.get(rule.id) ?? []
    if (keys.length === 0 || keys.some(({ clientId }) => !control.peers.find(clientId))) continue
    const own = await control.objects.deliverAll(em, keys, 'push')
    const waiting = own.map((delivery, at) => ({ clientId: keys[at]?.clientId ?? '', delivery }))
    sent.push({ rule, delivery: await openHeldDelivery(services, rule, waiting, em) })
  }
  return sent
}

export interface Answer {
  readonly rule: Rule
  readonly result: RuleAnswer | null // null: no answer came
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
  answer: RuleAnswer | null,
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
  const { clientId } = answer
  const refused = { ...details, ...whenRefused, ...(clientId !== undefined && { client_id: clientId }) }
  if (answer.code === portInUse.code) throw new Fault(portInUse, answer.message, { details: refused })
  throw new Fault(activationFailed, answer.message, { details: { ...refused, reason: answer.code } })
}

export const removedWhileWaiting = (id: string): Fault =>
  new Fault(ruleNotFound, `rule ${id} was removed before its client answered`, {
    details: { rule_id: id }
  })
