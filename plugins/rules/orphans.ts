// At start: what lost the owner of one of its parts is taken off the agents; what got it back returns.
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { heldOf, isHeld, isOrphan, type Life, type Notice, sayAll } from './life.ts'

interface Services extends Pick<Kernel, 'store' | 'control'> {
  readonly fields: Fields
  readonly life: Life
}

export function openOrphans({ store, control, fields, life }: Services) {
  /** A client may have been deleted while this plugin was off. */
  async function sort(em: EntityManager): Promise<Notice[]> {
    const said: Notice[] = []
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const rule of await em.find(Rule, {})) {
      if (!clients.has(rule.clientId)) said.push(await life.remove(rule, em))
      if (!clients.has(rule.clientId) || rule.state === 'draining') continue
      const lack = fields.lack(rule)
      if (lack && isHeld(rule)) {
        said.push(await life.enter(rule, { state: 'failed', code: lack.row.code }, em))
        await control.objects.drop(em, heldOf(rule), 'cut')
      }
      if (!lack && isOrphan(rule)) {
        said.push(await life.enter(rule, { state: 'pending' }, em))
        await control.objects.put(em, heldOf(rule))
      }
    }
    return said
  }

  return { start: async (): Promise<void> => sayAll(await store.change(sort)) }
}
