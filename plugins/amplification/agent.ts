// The agent half: the engine caps the replies of each flow. A change applies to new flows.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { field, refusal } from './field.ts'

export default {
  name: 'amplification',
  agent: '^1.5.0',
  fields: [
    defineField({
      ...field,
      plan({ ratio, proven_after: provenAfter }, draft) {
        draft.replyCap = { ratio, provenAfter, refusal }
      }
    })
  ],
  explain({ path: { spec, plan }, refused }) {
    const { replyCap } = plan
    if (replyCap?.refusal !== refusal) return []
    const { ratio, provenAfter } = replyCap
    const until = provenAfter === 0 ? '' : `, until it has answered ${provenAfter} of them`
    const dropped = refused.get(refusal)
    const lately = dropped
      ? `; ${dropped.count} replies were dropped, the last ${Math.round(dropped.agoMs / 1000)} s ago`
      : ''
    const text = `a caller gets replies of at most ${ratio} times the bytes that it sent${until}${lately}`
    return [{ kind: 'limit', id: `replies ${spec.id}`, verdict: 'info', reason: refusal, text }]
  }
} satisfies AgentPlugin
