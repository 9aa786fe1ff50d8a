// Sums the time that connections waited for their TLS names. Sums cover restarts of agents, so that they never decrease while
// the server runs.
import type { Peer } from '../../kernel/control/peers.ts'
import type { Histogram, Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openRefusedRows } from '../rules/exports.ts'
import { boundsMs, type Peeks } from './wire.ts'

interface Sum {
  readonly instanceId: string
  readonly past: Peeks // of earlier agent processes
  readonly now: Peeks
}

const nothing: Peeks = { counts: [], sum_ms: 0 }
const max = Number.MAX_SAFE_INTEGER
const secsPerMs = 1e-3

export interface PeekSums {
  /** Adds the histogram of an agent process; one that decreases or has other buckets is logged and ignored. */
  receive(peer: Pick<Peer, 'clientId' | 'instanceId'>, reported: Peeks): void
  readonly metrics: Metrics
  forgetClient(clientId: string): void
}

export function openPeeks({ clock, log }: Pick<Kernel, 'clock' | 'log'>): PeekSums {
  const sums = new Map<string, Sum>()
  const logRefused = openRefusedRows({ clock, log })

  function receive({ clientId, instanceId }: Pick<Peer, 'clientId' | 'instanceId'>, reported: Peeks): void {
    const sum = sums.get(clientId) ?? { instanceId, past: nothing, now: nothing }
    const isSame = sum.instanceId === instanceId
    const reason = reasonAgainst(reported, isSame ? sum.now : nothing)
    const past = isSame ? sum.past : plus(sum.past, sum.now)
    if (reason === null) sums.set(clientId, { instanceId, past, now: reported })
    else logRefused(clientId, [{ report: 'peeks', reason }])
  }

  const metrics: Metrics = async () => [
    {
      name: 'svc_tls_client_hello_peek_duration_seconds',
      type: 'histogram',
      help: 'Time that connections waited for the TLS server name.',
      labels: ['client'],
      samples: [...sums].map(([clientId, sum]) => ({ labelValues: [clientId], value: toHistogram(sum) }))
    }
  ]

  return { receive, metrics, forgetClient: (clientId: string): void => void sums.delete(clientId) }
}

/** Returns why a histogram is refused, or null. The counts of one agent process never decrease. */
function reasonAgainst({ counts, sum_ms }: Peeks, before: Peeks): string | null {
  if (counts.length !== boundsMs.length + 1) return 'buckets'
  const isGrown = counts.every((count, at) => count >= (before.counts[at] ?? 0)) && sum_ms >= before.sum_ms
  return isGrown && [...counts, sum_ms].every(value => value <= max) ? null : 'amount'
}

const plus = (a: Peeks, b: Peeks): Peeks => ({
  counts: Array.from({ length: boundsMs.length + 1 }, (_, at) =>
    Math.min(max, (a.counts[at] ?? 0) + (b.counts[at] ?? 0))
  ),
  sum_ms: Math.min(max, a.sum_ms + b.sum_ms)
})

function toHistogram({ past, now }: Sum): Histogram {
  const { counts, sum_ms } = plus(past, now)
  return { bounds: boundsMs.map(ms => ms * secsPerMs), counts, sum: sum_ms * secsPerMs }
}
