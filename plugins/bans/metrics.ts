import { increment, samplesOf } from '../../kernel/base/metric.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Ban } from './entities.ts'

/** Exports the bans in force, as the server knows them. */
export const openMetrics =
  ({ store, clock }: Pick<Kernel, 'store' | 'clock'>): Metrics =>
  async () => {
    const where = { liftedAt: null, untilMs: { $gt: clock.now() } }
    const bans = await store.read(em => em.find(Ban, where, { fields: ['clientId', 'cause'] }))
    const counts = new Map<string, number>()
    for (const { clientId, cause } of bans) increment(counts, `${clientId} ${cause}`)
    const help = 'Bans in force, by client and cause'
    const labels = ['client', 'cause']
    return [{ name: 'svc_bans_in_force', type: 'gauge', help, labels, samples: samplesOf(counts) }]
  }
