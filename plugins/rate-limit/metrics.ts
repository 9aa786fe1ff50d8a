import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import type { Throttles } from './throttles.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Rules
  readonly throttles: Throttles
}

/** The series of an envelope has an empty rule. */
export const openMetrics =
  ({ store, rules, throttles }: Services): Metrics =>
  async () => {
    const all = throttles.all()
    const ids = all.flatMap(({ scope, id }) => (scope === 'rule' ? [id] : []))
    const owners = await store.read(em => rules.ownershipOf(ids, em))
    const samples = all.flatMap(({ clientId, scope, id, ms }) => {
      const owner = scope === 'owner' ? id : owners.get(id)?.owner
      return owner === undefined
        ? []
        : [{ labelValues: [clientId, owner, scope === 'rule' ? id : ''], value: ms / 1000 }]
    })
    return [
      {
        name: 'svc_rate_limit_throttle_seconds_total',
        type: 'counter',
        help: 'Time that connections waited for the rate limit of their rule, or of their owner (without a rule).',
        labels: ['client', 'owner', 'rule'],
        samples
      }
    ]
  }
