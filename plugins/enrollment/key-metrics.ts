import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { EnrollmentKey } from './entities.ts'

export const openKeyMetrics =
  ({ store }: Pick<Kernel, 'store'>): Metrics =>
  async () => {
    const keys = await store.read(em => em.find(EnrollmentKey, {}, { orderBy: { id: 'asc' } }))
    return [
      {
        name: 'svc_enrollment_key_uses_total',
        type: 'counter',
        help: 'Hosts that have enrolled with the key; until the key is deleted.',
        labels: ['key', 'label'],
        samples: keys.map(({ id, label, used }) => ({ labelValues: [id, label], value: used }))
      }
    ]
  }
