import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import { covers } from './admission.ts'
import { Grant } from './entities.ts'

/** Tells which grants let the owner have the rule; one that a superadmin has placed needs none. */
export const grantExplainer = explainSlot.fill({
  async explain({ rule, clientId, placedBySuperadmin }, em) {
    if (placedBySuperadmin) return []
    const { owner, protocol, listen_port: listenFrom, listen_port_end } = rule
    const listenTo = listen_port_end ?? listenFrom
    const place = { parent: null, owner, clientId, protocol, listenFrom, listenTo, targets: rule.targets }
    const covering = (await em.find(Grant, { userId: owner })).filter(grant => covers(grant, place))
    if (covering.length === 0)
      return [
        {
          ...{ kind: 'grant', id: owner, verdict: 'stop', reason: 'target_denied' },
          text: `no grant of ${owner} covers this rule any more: no target is allowed`
        }
      ]
    return covering.map(({ id, targets }): ExplainStep => {
      const which = targets == null ? 'any target' : `the targets ${targets.join(', ')}`
      const text = `a grant of ${owner} allows this port, and ${which}`
      return { kind: 'grant', id, verdict: 'pass', reason: null, text }
    })
  }
} satisfies Explainer)
