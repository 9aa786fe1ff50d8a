// How long connections waited for their TLS names. Counts are summed over agent restarts, so that they never decrease
// while the server runs.
import type { Peer } from '../../kernel/control/peers.ts'
import type { Histogram, Metrics } from '../../kernel/metrics.ts'
import { boundsMs, type Peeks } from './wire.ts'

interface Sum {
  readonly instanceId: string
  readonly past: Peeks // of earlier agent processes
  readonly now: Peeks
}

const nothing: Peeks = { counts: [], sum_ms: 0 }
const secsPerMs = 1e-3

export type PeekSums = ReturnType<typeof openPeeks>

export function openPeeks() {
  const sums = new Map<string, Sum>()

  function receive({ clientId, instanceId }: Pick<Peer, 'clientId' | 'instanceId'>, reported: Peeks): void {
    const sum = sums.get(clientId) ?? { instanceId, past: nothing, now: nothing }
    const past = sum.instanceId === instanceId ? sum.past : plus(sum.past, sum.now)
    sums.set(clientId, { instanceId, past, now: reported })
  }

  const metrics: Metrics = async () => [
    {
      name: 'svc_tls_client_hello_peek_duration_seconds',
      type: 'histogram',
      help: 'Time that connections waited for the TLS server name.',
      labels: ['client'],
      samples: [...sums].map(([clientId, sum]) => ({ labelValues: [clientId], value: histogramOf(sum) }))
    }
  ]

  return { receive, metrics, forgetClient: (clientId: string): void => void sums.delete(clientId) }
}

const plus = (a: Peeks, b: Peeks): Peeks => ({
  counts: Array.from({ length: boundsMs.length + 1 }, (_, at) => (a.counts[at] ?? 0) + (b.counts[at] ?? 0)),
  sum_ms: a.sum_ms + b.sum_ms
})

function histogramOf({ past, now }: Sum): Histogram {
  const { counts, sum_ms } = plus(past, now)
  return { bounds: boundsMs.map(ms => ms * secsPerMs), counts, sum: sum_ms * secsPerMs }
}
