import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import type { TargetHealth } from './health.ts'

/** Explains which targets have failed or are ejected. The agent tries them after the others. */
export const explains = explainSlot.fill({
  async explain({ rule: { targets }, port, rule }) {
    return targets.flatMap((target): ExplainStep[] => {
      const health = (target as { readonly health?: TargetHealth }).health
      if (!health || (health.state !== 'failed' && health.ejected_until === null)) return []
      const {
        consecutive_failures: count,
        last_failure_at: at,
        ejected_until: until,
        ejected_reason
      } = health
      const id = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port + port - rule.listen_port}`
      const text =
        until === null
          ? `${id} has failed ${count} times in a row, last at ${at}: it is tried after the others`
          : `${id} is ejected until ${until}: ${ejected_reason}; it is tried after the others`
      return [{ kind: 'health', id, verdict: 'info', reason: ejected_reason ?? 'failed', text }]
    })
  }
} satisfies Explainer)
