// DELETE, and the removal of many rules for other plugins.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { resourceOf } from '../api/rule-resource.ts'
import { type AfterCommit, belongsOnAgent, objectKeyOf, runAll } from '../delivery/rule-states.ts'
import { isGroupRule, noClient, Rule } from '../entities.ts'
import type { Change, Services } from '../services.ts'
import { answersOf, defaultAckSecs, requireAnswers, requireApplied } from './client-answers.ts'

/**
 * Takes a rule off its client: it drains while the client is connected, else its row is deleted. Returns whether the
 * client is to answer.
 */
export async function drainRule({ control, states }: Services, rule: Rule, em: EntityManager) {
  const isOnAgent = belongsOnAgent(rule)
  await takeOff(control, rule, 'drain', em)
  const isAnswered = isOnAgent && control.peers.find(rule.clientId) !== undefined
  const afterCommit = await (isAnswered
    ? states.enter(rule, { state: 'draining' }, em)
    : states.remove(rule, em))
  return { isAnswered, afterCommit }
}

const takeOff = async (
  control: Services['control'],
  rule: Rule,
  removal: 'drain' | 'cut',
  em: EntityManager
): Promise<unknown> =>
  belongsOnAgent(rule)
    ? control.objects.drop(em, objectKeyOf(rule), removal)
    : control.objects.forget(em, objectKeyOf(rule))

export function openRemoval(services: Services) {
  const { control, filled, reader, states } = services

  /** A whole goes with the last of its parts. */
  async function drainWhole(rule: Rule, em: EntityManager) {
    const parts = await em.find(Rule, { parent: rule.id })
    if (parts.length === 0) return { answered: [], woken: [], after: [await states.remove(rule, em)] }
    const after = [await states.enter(rule, { state: 'draining' }, em)]
    const answered: Rule[] = []
    for (const part of parts.filter(({ state }) => state !== 'draining')) {
      const { isAnswered, afterCommit } = await drainRule(services, part, em)
      if (isAnswered) answered.push(part)
      after.push(afterCommit)
    }
    return { answered, woken: parts, after }
  }

  /** Removes a rule. Connected clients have closed the port when it resolves; live connections continue to drain. */
  async function remove(
    id: string,
    givenAckSecs: number | undefined,
    { principal, change }: Change
  ): Promise<void> {
    const { rule, answered, woken, after } = await change(resourceOf(id, filled), async em => {
      const rule = await reader.find(id, principal, em)
      if (rule.state === 'draining') return { rule, answered: [], woken: [rule], after: [] }
      if (isGroupRule(rule)) return { rule, ...(await drainWhole(rule, em)) }
      const { isAnswered, afterCommit } = await drainRule(services, rule, em)
      return { rule, answered: isAnswered ? [rule] : [], woken: [rule], after: [afterCommit] }
    })
    runAll(after)
    for (const { clientId } of woken) if (clientId !== noClient) control.objects.wake(clientId)
    const ackSecs = givenAckSecs ?? defaultAckSecs(answered.length)
    const answers = await answersOf(control, answered, 'remove', ackSecs)
    if (isGroupRule(rule)) requireAnswers(id, answers, ackSecs)
    else if (answered.length > 0) requireApplied(answers[0]?.result ?? null, id, ackSecs)
  }

  /** Deletes rules in the caller's transaction. 'drain' lets live connections end, 'cut' resets them. */
  async function removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut') {
    const rules = await em.find(Rule, where, { orderBy: { id: 'asc' } })
    const actions: AfterCommit[] = []
    for (const rule of rules) {
      if (!isGroupRule(rule)) await takeOff(control, rule, removal, em)
      actions.push(await states.remove(rule, em))
    }
    const afterCommit = (): void => {
      runAll(actions)
      for (const clientId of new Set(rules.map(({ clientId }) => clientId)))
        if (clientId !== noClient) control.objects.wake(clientId)
    }
    return { ids: rules.filter(({ parent }) => parent == null).map(({ id }) => id), afterCommit }
  }

  return { remove, removeAll }
}
