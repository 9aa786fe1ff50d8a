// Metrics of the health of targets. Read in pages, so that other requests are answered in between.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { MetricSample, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { RuleCore, Rules } from '../rules/exports.ts'
import { HealthInterval } from './entities.ts'
import type { Healths } from './health.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Pick<Rules, 'matching'>
  readonly healths: Pick<Healths, 'of' | 'reported'>
}

const rulesPerPage = 500

/** Of rules whose health decides or is checked: with several targets, or with health checks. */
export function openMetrics({ store, rules, healths }: Services): Metrics {
  async function judgedRules(ids: readonly string[], em: EntityManager): Promise<RuleCore[]> {
    const found = await rules.matching({ id: { $in: [...ids] } }, em)
    const checked = new Set(
      (await em.find(HealthInterval, { rule: { $in: [...ids] } })).map(({ rule }) => rule)
    )
    return found.filter(({ id, targets }) => targets.length > 1 || checked.has(id))
  }

  return async () => {
    const samples: MetricSample[] = []
    const ids = healths.reported()
    for (let at = 0; at < ids.length; at += rulesPerPage) {
      const page = ids.slice(at, at + rulesPerPage)
      for (const rule of await store.read(em => judgedRules(page, em)))
        samples.push(...samplesOf(rule, healths.of(rule)))
      await setImmediate()
    }
    return [
      {
        name: 'svc_rule_target_healthy',
        type: 'gauge',
        help: '1 while the client reaches the target, 0 while it does not; absent while that is unknown.',
        labels: ['client', 'owner', 'rule', 'target'],
        samples
      }
    ]
  }
}

const samplesOf = (rule: RuleCore, health: ReturnType<Healths['of']>): MetricSample[] =>
  rule.targets.flatMap(({ host, port }, at) => {
    const state = health[at]?.state ?? 'unknown'
    if (state === 'unknown') return []
    const target = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    return [
      {
        labelValues: [rule.clientId, rule.owner, rule.parent ?? rule.id, target],
        value: state === 'healthy' ? 1 : 0
      }
    ]
  })
