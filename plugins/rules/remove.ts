// DELETE, and the removal of many rules for other plugins.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { defaultAckSecs, requireApplied } from './answer.ts'
import { Rule } from './entities.ts'
import { resourceOf } from './resource.ts'
import { type AfterCommit, belongsOnAgent, objectKeyOf, runAll } from './rule-states.ts'
import type { Change, Services } from './services.ts'

export function openRemoval({ control, filled, reading, states }: Services) {
  const takeOff = async (rule: Rule, removal: 'drain' | 'cut', em: EntityManager): Promise<unknown> =>
    belongsOnAgent(rule)
      ? control.objects.drop(em, objectKeyOf(rule), removal)
      : control.objects.forget(em, objectKeyOf(rule))

  /** Removes a rule. A connected client has closed the port when it resolves; live connections continue to drain. */
  async function remove(id: string, ackSecs = defaultAckSecs, { principal, change }: Change): Promise<void> {
    const { rule, peer, afterCommit } = await change(resourceOf(id, filled), async em => {
      const rule = await reading.find(id, principal, em)
      if (rule.state === 'draining') return { rule }
      const isOnAgent = belongsOnAgent(rule)
      await takeOff(rule, 'drain', em)
      const peer = isOnAgent ? control.peers.find(rule.clientId) : undefined
      const afterCommit = await (peer
        ? states.enter(rule, { state: 'draining' }, em)
        : states.remove(rule, em))
      return { rule, peer, afterCommit }
    })
    afterCommit?.()
    if (peer) requireApplied(await control.objects.deliver(objectKeyOf(rule), 'remove', ackSecs), id, ackSecs)
    else control.objects.wake(rule.clientId)
  }

  /** Deletes rules in the caller's transaction. 'drain' lets live connections end, 'cut' resets them. */
  async function removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut') {
    const rules = await em.find(Rule, where, { orderBy: { id: 'asc' } })
    const actions: AfterCommit[] = []
    for (const rule of rules) {
      await takeOff(rule, removal, em)
      actions.push(await states.remove(rule, em))
    }
    const afterCommit = (): void => {
      runAll(actions)
      for (const clientId of new Set(rules.map(({ clientId }) => clientId))) control.objects.wake(clientId)
    }
    return { ids: rules.map(({ id }) => id), afterCommit }
  }

  return { remove, removeAll }
}
