import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { type AfterCommit, belongsOnAgent, objectKeyOf } from './life.ts'

export type Refresh = ReturnType<typeof openRefresh>

/** For owners of derived fields, in the transaction that changes what they derive. */
export function openRefresh({ control }: Pick<Kernel, 'control'>, fields: Fields) {
  return async (where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit> => {
    const before = await em.find(Rule, { $and: [where, { state: { $ne: 'draining' } }] })
    const after = await fields.withDerived(before, em)
    const touched = after.filter((rule, at) =>
      [rule, before[at]].some(rule => rule && fields.isDerived(rule))
    )
    for (const rule of touched) {
      await em.nativeUpdate(Rule, { id: rule.id }, { fields: rule.fields })
      if (belongsOnAgent(rule)) await control.objects.put(em, objectKeyOf(rule))
    }
    return () => {
      for (const clientId of new Set(touched.map(({ clientId }) => clientId))) {
        const peer = control.peers.find(clientId)
        const isAble = touched.every(
          rule => rule.clientId !== clientId || !peer || !fields.refusal(rule, peer)
        )
        // What a client cannot do any more is sorted out when it joins.
        if (isAble) control.objects.wake(clientId)
        else peer?.end('rule.unsupported')
      }
    }
  }
}
