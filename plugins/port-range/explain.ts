import { type Explainer, explainSlot } from '../rules/exports.ts'

/** Explains which target port a port of a range maps to. */
export const explains = explainSlot.fill({
  async explain({ rule: { rule_id: id, listen_port: from, listen_port_end: to, targets }, port }) {
    const [first] = targets
    if (to === null || !first) return []
    const text = `port ${port} of ${from}-${to} goes to port ${first.port + port - from} of ${first.host}`
    return [{ kind: 'range', id, verdict: 'info', reason: null, text }]
  }
} satisfies Explainer)
