// At start: a rule with a part that no loaded plugin owns is taken off its agent, and comes back with the owner.
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { belongsOnAgent, lacksPart, objectKeyOf, type RuleStates, runAll } from './rule-states.ts'
import type { AfterCommit } from './service.ts'

interface Services extends Pick<Kernel, 'store' | 'control'> {
  readonly fields: Fields
  readonly states: RuleStates
}

export function openMissingParts({ store, control, fields, states }: Services) {
  /** Also deletes the rules of clients that were deleted while this plugin was disabled. */
  async function reconcile(em: EntityManager): Promise<AfterCommit[]> {
    const afterCommit: AfterCommit[] = []
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const rule of await em.find(Rule, {})) {
      if (!clients.has(rule.clientId)) afterCommit.push(await states.remove(rule, em))
      if (!clients.has(rule.clientId) || rule.state === 'draining') continue
      const missing = fields.missingPart(rule)
      if (missing && belongsOnAgent(rule)) {
        afterCommit.push(await states.enter(rule, { state: 'failed', code: missing.errorCode.code }, em))
        await control.objects.drop(em, objectKeyOf(rule), 'cut')
      }
      if (!missing && lacksPart(rule)) {
        afterCommit.push(await states.enter(rule, { state: 'pending' }, em))
        await control.objects.put(em, objectKeyOf(rule))
      }
    }
    return afterCommit
  }

  return { start: async (): Promise<void> => runAll(await store.change(reconcile)) }
}
