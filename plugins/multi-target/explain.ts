import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import type { TargetHealth } from './health.ts'

/** Explains which targets have failed or are ejected. The agent tries them after the others. */
export const explains = explainSlot.fill({
  async explain({ rule: { targets }, port, rule }) {
    return targets.flatMap((target): ExplainStep[] => {
      const health = (target as { readonly health?: TargetHealth }).health
      if (!health || (health.state !== 'failed' && health.ejected_until === null)) return []
      const { ejected_until: until, ejected_reason } = health
      const id = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port + port - rule.listen_port}`
      const after = targets.length > 1 ? '; it is tried after the others' : ''
      const text =
        until === null
          ? `${failureOf(id, health)}${after}`
          : `${id} is ejected until ${until}: ${ejected_reason}${after}`
      return [
        { kind: 'health', id, verdict: 'info', reason: ejected_reason ?? health.reason ?? 'failed', text }
      ]
    })
  }
} satisfies Explainer)

function failureOf(id: string, health: TargetHealth): string {
  const { consecutive_failures: count, last_failure_at: at, reason, source } = health
  const by = source === 'probe' ? ' in a probe' : ''
  const times = count === 1 ? 'once' : `${count} times in a row`
  return `${id} has failed ${times}, last at ${at}${by}${reason === null ? '' : ` (${reason})`}`
}
