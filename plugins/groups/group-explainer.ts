import { type Explainer, explainSlot } from '../rules/exports.ts'
import { key } from './group-clients.ts'

/** Tells that the rule is on several clients, of which one was asked. */
export const explains = explainSlot.fill({
  async explain({ rule }) {
    if ((rule[key] ?? null) === null) return []
    const edges = rule['edges'] as readonly unknown[]
    const text = `the rule is on ${edges.length} clients: this is about one of them`
    return [{ kind: 'group', id: rule.rule_id, verdict: 'info', reason: null, text }]
  }
} satisfies Explainer)
