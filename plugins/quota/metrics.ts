import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Quota } from './entities.ts'
import { bytesUsedOf, rolledOver } from './usage.ts'

/** A series a pair, from PUT to DELETE. */
export const openMetrics =
  ({ store, clock }: Pick<Kernel, 'store' | 'clock'>): Metrics =>
  async () => {
    const found = await store.read(em => em.find(Quota, {}, { disableIdentityMap: true }))
    const now = clock.now()
    const quotas = found.map(quota => rolledOver(quota, now))
    const gauge = (name: string, help: string, read: (quota: Quota) => number): Metric => ({
      name: `svc_traffic_quota_${name}`,
      type: 'gauge',
      help,
      labels: ['user', 'client'],
      samples: quotas.map(quota => ({ labelValues: [quota.userId, quota.clientId], value: read(quota) }))
    })
    return [
      gauge('exhausted', '1 where the quota of the period is spent', ({ exhaustedAt }) =>
        exhaustedAt == null ? 0 : 1
      ),
      gauge('bytes_used', 'Delivered in the period, in and out, less what was forgiven', bytesUsedOf),
      gauge('bytes_limit', 'Size of the quota', ({ monthlyBytes }) => monthlyBytes)
    ]
  }
