import { type Explainer, explainSlot } from '../rules/exports.ts'
import { balance } from './fields.ts'

/** Explains how a target is chosen. */
export const explains = explainSlot.fill({
  async explain({ rule }) {
    const algorithm = rule[balance.key] ?? null
    if (algorithm === null) return []
    const text = `callers are spread over the targets of a priority: ${algorithm}`
    return [{ kind: 'balance', id: rule.rule_id, verdict: 'info', reason: null, text }]
  }
} satisfies Explainer)
