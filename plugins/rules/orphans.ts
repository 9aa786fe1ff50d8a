// At start: what lost the owner of one of its parts is taken off the agents; what got it back returns.
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { type AfterCommit, belongsOnAgent, lacksPart, objectKeyOf, type RuleStates, runAll } from './life.ts'

interface Services extends Pick<Kernel, 'store' | 'control'> {
  readonly fields: Fields
  readonly life: RuleStates
}

export function openMissingParts({ store, control, fields, life }: Services) {
  /** A client may have been deleted while this plugin was off. */
  async function sort(em: EntityManager): Promise<AfterCommit[]> {
    const said: AfterCommit[] = []
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const rule of await em.find(Rule, {})) {
      if (!clients.has(rule.clientId)) said.push(await life.remove(rule, em))
      if (!clients.has(rule.clientId) || rule.state === 'draining') continue
      const lack = fields.lack(rule)
      if (lack && belongsOnAgent(rule)) {
        said.push(await life.enter(rule, { state: 'failed', code: lack.errorCode.code }, em))
        await control.objects.drop(em, objectKeyOf(rule), 'cut')
      }
      if (!lack && lacksPart(rule)) {
        said.push(await life.enter(rule, { state: 'pending' }, em))
        await control.objects.put(em, objectKeyOf(rule))
      }
    }
    return said
  }

  return { start: async (): Promise<void> => runAll(await store.change(sort)) }
}
