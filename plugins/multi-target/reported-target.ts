// The health of a target as the agent reports it: from the engine's attempts and the probes of a rule without traffic.
import type { RuleSpec, TargetStanding } from '../../agent/plugin.ts'
import type { Probed, RuleCounters } from './idle-probes.ts'
import type { RuleHealth } from './wire.ts'

type ReportedTarget = RuleHealth['targets'][number]
type TargetCounters = RuleCounters['targets'][number]
type Standing = Pick<TargetStanding, 'ejection' | 'ejections'>

interface Known {
  readonly counters: TargetCounters
  readonly standing: Standing | undefined
  readonly probed: Probed | undefined // of the first target
}

export function reportTarget(rule: RuleSpec, { counters, standing, probed }: Known): ReportedTarget {
  const lastFailureAt = latest(counters.lastFailureAt, probed?.lastFailureAt)
  const lastSuccessAt = latest(counters.lastSuccessAt, probed?.lastSuccessAt)
  return {
    ...(probed?.result ? byProbe(probed.result.failure, probed.failures) : byAttempts(rule, counters)),
    ...ejectionOf(standing),
    ...(lastFailureAt !== null && { last_failure_ms: lastFailureAt }),
    ...(lastSuccessAt !== null && { last_success_ms: lastSuccessAt })
  }
}

/** Reports a target of a closed rule: no caller and no probe goes there. */
export const closedTarget = (standing: Standing | undefined): ReportedTarget => ({
  state: 'unknown',
  consecutive_failures: 0,
  ...ejectionOf(standing)
})

type Judged = Pick<ReportedTarget, 'state' | 'consecutive_failures' | 'reason' | 'source'>

const byProbe = (failure: string | null, failures: number): Judged => ({
  state: failure === null ? 'healthy' : 'failed',
  consecutive_failures: failures,
  ...(failure !== null && { reason: failure }),
  source: 'probe'
})

function byAttempts(rule: RuleSpec, counters: TargetCounters): Judged {
  const { consecutiveFailures, lastFailure, lastSource: source } = counters
  const state = stateOf(rule, counters)
  return {
    state,
    consecutive_failures: consecutiveFailures,
    ...(state === 'failed' && lastFailure !== null && { reason: lastFailure }),
    ...(state !== 'unknown' && { source })
  }
}

/**
 * The last attempt decides. Among several targets, one that the engine has failed stays so until the engine uses it again.
 * A UDP target is failed when the engine fails it, because a single error of a flow can be that of a caller, or when its
 * name is not resolved.
 */
function stateOf({ protocol, targets }: RuleSpec, counters: TargetCounters): ReportedTarget['state'] {
  const { health, consecutiveFailures, lastFailure, lastSuccessAt } = counters
  const hasFailed = consecutiveFailures > 0
  if (protocol === 'udp') return hasFailed && lastFailure?.startsWith('dns_') ? 'failed' : health
  if (hasFailed || (health === 'failed' && targets.length > 1)) return 'failed'
  return lastSuccessAt === null ? 'unknown' : 'healthy'
}

const ejectionOf = ({ ejection, ejections }: Standing = { ejection: null, ejections: 0 }) => ({
  ...(ejection && { ejected_until_ms: ejection.until, ejected_reason: ejection.reason }),
  ...(ejections > 0 && { ejections })
})

function latest(one: number | null, other: number | null | undefined): number | null {
  if (one === null || other == null) return one ?? other ?? null
  return Math.max(one, other)
}
