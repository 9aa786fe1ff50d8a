// Metrics of target health. Reads rules in pages, so that other requests run in between.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { MetricSample, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { fieldValues, type RuleCore, type Rules } from '../rules/exports.ts'
import { hostAndPort } from './ejection-log.ts'
import { field } from './field.ts'
import type { Healths } from './health.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'matching'>
  readonly healths: Pick<Healths, 'of' | 'reported' | 'ejections'>
}

const rulesPerPage = 500

/** Health of the targets of all rules; ejections of those with several targets, or with health checks. */
export function openMetrics({ store, rules, healths }: Services): Metrics {
  async function reportedRules(ids: readonly string[], em: EntityManager) {
    const found = await rules.matching({ id: { $in: [...ids] } }, em)
    const checked = await fieldValues(field, em, ids)
    return found.map(rule => ({ rule, isJudged: rule.targets.length > 1 || checked.has(rule.id) }))
  }

  return async () => {
    const healthy: MetricSample[] = []
    const failed: MetricSample[] = []
    const ejected: MetricSample[] = []
    const ejections: MetricSample[] = []
    const ids = healths.reported()
    for (let at = 0; at < ids.length; at += rulesPerPage) {
      const page = ids.slice(at, at + rulesPerPage)
      for (const { rule, isJudged } of await store.read(em => reportedRules(page, em)))
        for (const [at, { state, reason, source, ejected_until }] of healths.of(rule).entries()) {
          const labelValues = labels(rule, at)
          if (state !== 'unknown') healthy.push({ labelValues, value: state === 'healthy' ? 1 : 0 })
          if (state === 'failed')
            failed.push({ labelValues: [...labelValues, reason ?? '', source ?? ''], value: 1 })
          if (!isJudged) continue
          ejected.push({ labelValues, value: ejected_until === null ? 0 : 1 })
          ejections.push({ labelValues, value: healths.ejections(rule)[at] ?? 0 })
        }
      await setImmediate()
    }
    return [
      family(
        'svc_rule_target_healthy',
        '1 if the client can reach the target, else 0; absent if unknown.',
        healthy
      ),
      {
        ...family('svc_rule_target_failed', '1 while the client cannot reach the target.', failed),
        labels: [...targetLabels, 'reason', 'source']
      },
      family('svc_rule_target_ejected', '1 if the target is ejected.', ejected),
      family(
        'svc_rule_target_ejections_total',
        'Ejections of the target, as counted by the client.',
        ejections
      )
    ]
  }
}

const targetLabels = ['client', 'owner', 'rule', 'target']

const family = (name: string, help: string, samples: readonly MetricSample[]) => ({
  name,
  type: name.endsWith('_total') ? ('counter' as const) : ('gauge' as const),
  help,
  labels: targetLabels,
  samples
})

const labels = ({ clientId, owner, parent, id, targets }: RuleCore, at: number): string[] => [
  clientId,
  owner,
  parent ?? id,
  hostAndPort(targets[at])
]
