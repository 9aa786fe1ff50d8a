import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../kernel/identity/entities.ts'
import { explainSlot } from '../rules/exports.ts'
import { findCircle, type ListeningRule } from './circle.ts'
import { findActive, storedGraph } from './stored-graph.ts'

/** Explains that callers of the rule may go in a circle. Names only rules of its owner. */
export const explains = explainSlot.fill({
  async explain({ id, rule: { rule_id, owner } }, em) {
    const start = await findActive(id, em)
    const circle = start && (await findCircle(start, storedGraph(em)))
    if (!circle) return []
    const way = await describe(circle, owner, em)
    const text = `this rule may forward to itself in a circle: ${way}. Change the target of one of these rules`
    return [{ kind: 'rule', id: rule_id, verdict: 'info', reason: 'loop', text }]
  }
})

async function describe(circle: readonly ListeningRule[], owner: string, em: EntityManager): Promise<string> {
  const clients = await em.find(
    Client,
    { id: { $in: circle.map(({ clientId }) => clientId) } },
    { fields: ['id', 'name'] }
  )
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  const hops = circle.map(({ owner: of, clientId, protocol, from }) =>
    of === owner ? `${names.get(clientId)} ${protocol} port ${from}` : 'a rule of another user'
  )
  return [...hops, hops[0]].join(' -> ')
}
