import { type ExplainedRule, type Explainer, explainSlot } from '../../rules/exports.ts'
import { pathPending } from './exit-object.ts'

interface Shown {
  readonly client_id: string | null
  readonly state_reason: string | null
}

/** Explains that the earlier path of a rule is in force while a change waits for a client. */
export const pendingPath = explainSlot.fill({
  async explain(asked) {
    if (shownOn(asked).state_reason !== pathPending) return []
    const text =
      'a changed path waits for a client that is away; until it has its part, the earlier path and targets serve'
    return [{ kind: 'rule', id: asked.rule.rule_id, verdict: 'info', reason: pathPending, text }]
  }
} satisfies Explainer)

/** Returns the state of the rule on this client. */
function shownOn({ rule, clientId }: Pick<ExplainedRule, 'rule' | 'clientId'>): Shown {
  const edges = rule['edges'] as readonly Shown[] | null
  return edges?.find(edge => edge.client_id === clientId) ?? rule
}
