import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Control } from '../../kernel/control/control.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { belongsOnAgent, objectKeyOf } from './rule-states.ts'
import type { AfterCommit } from './service.ts'

/** Computes the derived fields of rules again, in the transaction that changed what they are derived from. */
export const openRefresh =
  (control: Control, fields: Fields) =>
  async (where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit> => {
    const before = await em.find(Rule, { $and: [where, { state: { $ne: 'draining' } }] })
    const after = await fields.withDerived(before, em)
    const touched = after.filter((rule, index) =>
      [rule, before[index]].some(rule => rule && fields.hasDerived(rule))
    )
    for (const rule of touched) {
      await em.nativeUpdate(Rule, { id: rule.id }, { fields: rule.fields })
      if (belongsOnAgent(rule)) await control.objects.put(em, objectKeyOf(rule))
    }
    return () => {
      for (const clientId of new Set(touched.map(({ clientId }) => clientId))) {
        const peer = control.peers.find(clientId)
        const canTakeAll = touched.every(
          rule => rule.clientId !== clientId || !peer || !fields.unsupported(rule, peer)
        )
        // A client that lacks a capability now is disconnected: its rules are judged again when it joins.
        if (canTakeAll) control.objects.wake(clientId)
        else peer?.end('rule.unsupported')
      }
    }
  }
