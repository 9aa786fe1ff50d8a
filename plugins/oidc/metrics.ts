import type { Metrics } from '../../kernel/metrics.ts'

const bounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] // seconds

interface Durations {
  readonly counts: number[]
  sum: number
}

export interface OidcMetrics {
  countRequest(provider: string, secs: number): void
  readonly collect: Metrics
}

export function openOidcMetrics(): OidcMetrics {
  const requests = new Map<string, Durations>()

  return {
    countRequest(provider, secs) {
      const found = requests.get(provider) ?? { counts: [...bounds, 0].fill(0), sum: 0 }
      requests.set(provider, found)
      const at = bounds.findIndex(bound => secs <= bound)
      const bucket = at < 0 ? bounds.length : at
      found.counts[bucket] = (found.counts[bucket] ?? 0) + 1
      found.sum += secs
    },

    collect: async () => [
      {
        name: 'svc_oidc_request_seconds',
        type: 'histogram',
        help: 'Duration of requests to providers.',
        labels: ['provider'],
        samples: [...requests].map(([provider, { counts, sum }]) => ({
          labelValues: [provider],
          value: { bounds, counts, sum }
        }))
      }
    ]
  }
}
