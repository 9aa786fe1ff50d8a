import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Quota } from './entities.ts'
import { netUsage, rollOver } from './usage.ts'

/** Has one series per quota and metric. */
export const openMetrics =
  ({ store, clock }: Pick<Kernel, 'store' | 'clock'>): Metrics =>
  async () => {
    const found = await store.read(em => em.find(Quota, {}))
    const now = clock.now()
    const quotas = found.map(quota => rollOver(quota, now))
    const gauge = (name: string, help: string, read: (quota: Quota) => number): Metric => ({
      name: `svc_traffic_quota_${name}`,
      type: 'gauge',
      help,
      labels: ['user', 'client'],
      samples: quotas.map(quota => ({ labelValues: [quota.userId, quota.clientId], value: read(quota) }))
    })
    return [
      gauge('exhausted', '1 if the quota of the period is used up', ({ exhaustedAt }) =>
        exhaustedAt == null ? 0 : 1
      ),
      gauge('bytes_used', 'Bytes delivered in the period, in and out, minus cleared usage', netUsage),
      gauge('bytes_limit', 'Size of the quota in bytes', ({ monthlyBytes }) => monthlyBytes)
    ]
  }
