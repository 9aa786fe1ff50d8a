import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import { covers } from './admission.ts'
import { Grant } from './entities.ts'

/** Lists the grants that cover the rule. An exempt rule needs none. */
export const grantExplainer = explainSlot.fill({
  async explain({ rule, clientId, isExempt }, em) {
    if (isExempt) return []
    const { owner, protocol, listen_port: listenFrom, listen_port_end } = rule
    const listenTo = listen_port_end ?? listenFrom
    const checkedRule = {
      parent: null,
      owner,
      clientId,
      protocol,
      listenFrom,
      listenTo,
      targets: rule.targets
    }
    const covering = (await em.find(Grant, { userId: owner })).filter(grant => covers(grant, checkedRule))
    if (covering.length === 0)
      return [
        {
          kind: 'grant',
          id: owner,
          verdict: 'stop',
          reason: 'target_denied',
          text: `no grant of ${owner} covers this rule any more, so no target is allowed`
        }
      ]
    return covering.map(({ id, targets }): ExplainStep => {
      const allowed = targets == null ? 'any target' : `the targets ${targets.join(', ')}`
      const text = `a grant of ${owner} allows this port and ${allowed}`
      return { kind: 'grant', id, verdict: 'pass', reason: null, text }
    })
  }
} satisfies Explainer)
