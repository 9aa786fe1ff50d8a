import type { EngineRuleDraft, RuleSpec, SourceLimit } from '../../agent/plugin.ts'
import { divisor, refusal, replyRatio, type Switch } from './wire.ts'

type Numbers = Pick<Switch, 'connections' | 'new_connections' | 'within_secs'>

const defaultProvenAfter = 8 // datagrams, the default of a rule's own cap

/** Divides the rule's per-source limits and ban thresholds by 4. A rule without source limits gets those of the switch. */
export function tightenRule(draft: EngineRuleDraft, { id }: Pick<RuleSpec, 'id'>, numbers: Numbers): void {
  const isLimited = draft.sourceLimits.some(limit => limit.refusal !== null)
  const own = draft.sourceLimits.map(limit => ({
    ...limit,
    max: Math.max(1, Math.floor(limit.max / divisor))
  }))
  draft.sourceLimits = isLimited ? own : [...own, ...defaultLimits(id, numbers)]
  if (draft.protocol !== 'udp') return
  const cap = draft.replyCap ?? { ratio: replyRatio, provenAfter: defaultProvenAfter, refusal }
  draft.replyCap = { ...cap, ratio: Math.min(replyRatio, cap.ratio) }
}

function defaultLimits(id: string, { connections, new_connections, within_secs }: Numbers): SourceLimit[] {
  return [
    { name: `under-attack new ${id}`, of: 'new', max: new_connections, perMs: within_secs * 1000, refusal },
    { name: `under-attack open ${id}`, of: 'open', max: connections, perMs: 1, refusal }
  ]
}
