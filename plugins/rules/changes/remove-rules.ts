import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { ruleResource } from '../api/rule-resource.ts'
import { type AfterCommit, belongsOnAgent, objectKeyOf, runAll } from '../delivery/rule-states.ts'
import { isGroupRule, noClient, Rule } from '../entities.ts'
import type { Change, Services } from '../services.ts'
import {
  collectAnswers,
  defaultAckSecs,
  requireAnswers,
  requireApplied,
  type SentRule,
  waitForAnswers
} from './client-answers.ts'

/** Drains a rule on a connected client, which answers; for an offline client, deletes its row. */
export async function drainRule({ control, states }: Services, rule: Rule, em: EntityManager) {
  const isOnAgent = belongsOnAgent(rule)
  await removeFromAgent(control, rule, 'drain', em)
  const isAnswered = isOnAgent && control.peers.find(rule.clientId) !== undefined
  const afterCommit = await (isAnswered
    ? states.enter(rule, { state: 'draining' }, em)
    : states.remove(rule, em))
  return { isAnswered, afterCommit }
}

const removeFromAgent = async (
  control: Services['control'],
  rule: Rule,
  removal: 'drain' | 'cut',
  em: EntityManager
): Promise<unknown> =>
  belongsOnAgent(rule)
    ? control.objects.drop(em, objectKeyOf(rule), removal)
    : control.objects.forget(em, objectKeyOf(rule))

export interface RuleRemoval {
  /** Removes a rule. When it resolves, connected clients have closed the port; live connections continue to drain. */
  remove(id: string, ackSecs: number | undefined, call: Change): Promise<void>
  /** Deletes matching rules in the caller's transaction: 'drain' lets live connections end, 'cut' resets them. */
  removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut'): Promise<RemovedRules>
}

interface RemovedRules {
  readonly ids: string[] // without those of members
  readonly afterCommit: AfterCommit
}

export function openRemoveRules(services: Services): RuleRemoval {
  const { control, filled, reader, states } = services

  /** The group rule is deleted with its last member. */
  async function drainGroupRule(rule: Rule, em: EntityManager) {
    const members = await em.find(Rule, { parent: rule.id })
    if (members.length === 0) return { sent: [], woken: [], after: [await states.remove(rule, em)] }
    const after = [await states.enter(rule, { state: 'draining' }, em)]
    const sent: SentRule[] = []
    for (const member of members.filter(({ state }) => state !== 'draining')) {
      const { isAnswered, afterCommit } = await drainRule(services, member, em)
      if (isAnswered) sent.push(...(await collectAnswers(services, [member], 'remove', em)))
      after.push(afterCommit)
    }
    return { sent, woken: members, after }
  }

  async function remove(
    id: string,
    givenAckSecs: number | undefined,
    { principal, change }: Change
  ): Promise<void> {
    let name: string | null = null
    const resource = ruleResource(id, filled, () => name)
    const { rule, sent, woken, after } = await change(resource, async em => {
      const rule = await reader.find(id, principal, em)
      name = rule.name ?? null
      if (rule.state === 'draining') return { rule, sent: [], woken: [rule], after: [] }
      if (isGroupRule(rule)) return { rule, ...(await drainGroupRule(rule, em)) }
      const { isAnswered, afterCommit } = await drainRule(services, rule, em)
      const sent = isAnswered ? await collectAnswers(services, [rule], 'remove', em) : []
      return { rule, sent, woken: [rule], after: [afterCommit] }
    })
    runAll(after)
    for (const { clientId } of woken) if (clientId !== noClient) control.objects.wake(clientId)
    const ackSecs = givenAckSecs ?? defaultAckSecs(sent.length)
    const answers = await waitForAnswers(control, sent, ackSecs)
    if (isGroupRule(rule)) requireAnswers(id, answers, ackSecs)
    else if (sent.length > 0) requireApplied(answers[0]?.result ?? null, id, ackSecs)
  }

  async function removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut') {
    const rules = await em.find(Rule, where, { orderBy: { id: 'asc' } })
    for (const rule of rules) if (!isGroupRule(rule)) await removeFromAgent(control, rule, removal, em)
    const removed = await states.removeAll(rules, removal, em)
    const afterCommit = (): void => {
      removed()
      for (const clientId of new Set(rules.map(({ clientId }) => clientId)))
        if (clientId !== noClient) control.objects.wake(clientId)
    }
    return { ids: rules.filter(({ parent }) => parent == null).map(({ id }) => id), afterCommit }
  }

  return { remove, removeAll }
}
