// Counts the results of this server's deliveries, for its metrics.
import type { Metric } from '../../kernel/metrics.ts'

const kinds = ['delivered', 'failed', 'dropped'] as const
type Result = (typeof kinds)[number]

export interface Results {
  count(channel: string, result: Result): void
  metrics(): Promise<readonly Metric[]>
}

/** Returns zeros for the channels that `names` returns. */
export function openResults(names: () => readonly string[]): Results {
  const counts = new Map<string, number>()
  const keyOf = (channel: string, result: Result): string => `${result} ${channel}`
  return {
    count(channel, result) {
      const key = keyOf(channel, result)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    metrics: async () => [
      {
        name: 'svc_notifications_total',
        type: 'counter',
        help: 'Notifications by channel: delivered, failed after the last try, or dropped because too many waited.',
        labels: ['channel', 'result'],
        samples: names().flatMap(channel =>
          kinds.map(result => ({
            labelValues: [channel, result],
            value: counts.get(keyOf(channel, result)) ?? 0
          }))
        )
      }
    ]
  }
}
