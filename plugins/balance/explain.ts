import { type Explainer, explainSlot } from '../rules/exports.ts'
import { key } from './wire.ts'

/** Tells how a target is chosen. */
export const explains = explainSlot.fill({
  async explain({ rule }) {
    const by = rule[key] ?? null
    if (by === null) return []
    const text = `callers are spread over the targets of a priority: ${by}`
    return [{ kind: 'balance', id: rule.rule_id, verdict: 'info', reason: null, text }]
  }
} satisfies Explainer)
