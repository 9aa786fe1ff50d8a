import { type Explainer, explainSlot } from '../rules/exports.ts'
import { key } from './group-clients.ts'

/** Says that the rule is on several clients, and that the explanation is about one of them. */
export const explains = explainSlot.fill({
  async explain({ rule }) {
    if ((rule[key] ?? null) === null) return []
    const edges = rule['edges'] as readonly unknown[]
    const text = `the rule is on ${edges.length} clients; this explains one of them`
    return [{ kind: 'group', id: rule.rule_id, verdict: 'info', reason: null, text }]
  }
} satisfies Explainer)
