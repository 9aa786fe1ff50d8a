import { type Explainer, type ExplainStep, explainSlot, type Rules } from '../rules/exports.ts'
import { covers, coversExit, isCovered, pathClients } from './coverage.ts'
import { Grant, LostRule } from './entities.ts'
import { grantLost } from './wire.ts'

interface Deps {
  readonly rules: Pick<Rules, 'matching'>
}

/** Lists the grants that cover the rule and its paths; the paths explain what no grant covers. An exempt rule needs none. */
export const grantExplainer = explainSlot.fillWith(
  ({ rules }: Deps): Explainer => ({
    async explain({ id, isExempt }, em) {
      const [rule] = isExempt ? [] : await rules.matching({ id }, em)
      if (!rule) return []
      const { owner } = rule
      const grants = await em.find(Grant, { userId: owner })
      if (!isCovered(grants, rule) && (await em.count(LostRule, { rule: id })) > 0)
        return [stop(owner, grantLost, `no grant of ${owner} covers this rule any more, so it stays closed`)]
      const covering = grants.filter(grant => covers(grant, rule))
      if (covering.length === 0)
        return [
          stop(
            owner,
            'target_denied',
            `no grant of ${owner} covers this rule any more, so no target is allowed`
          )
        ]
      const steps = covering.map(grant => pass(grant, 'a grant', 'this port'))
      const isUsed = (grant: Grant) => pathClients(rule).some(id => coversExit(grant, rule, id))
      return [...steps, ...grants.filter(isUsed).map(grant => pass(grant, 'an exit grant', 'the path'))]
    }
  })
)

const stop = (id: string, reason: string, text: string): ExplainStep => ({
  kind: 'grant',
  id,
  verdict: 'stop',
  reason,
  text
})

function pass({ id, userId, targets }: Grant, what: string, allows: string): ExplainStep {
  const allowed = targets == null ? 'any target' : `the targets ${targets.join(', ')}`
  const text = `${what} of ${userId} allows ${allows} and ${allowed}`
  return { kind: 'grant', id, verdict: 'pass', reason: null, text }
}
