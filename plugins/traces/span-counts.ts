import type { Metric } from '../../kernel/metrics.ts'

const results = ['sent', 'failed', 'dropped'] as const
type Result = (typeof results)[number]

export interface SpanCounts {
  add(result: Result, count: number): void
  metrics(): Promise<readonly Metric[]>
}

export function openSpanCounts(): SpanCounts {
  const counts = { sent: 0, failed: 0, dropped: 0 }
  return {
    add(result, count) {
      counts[result] += count
    },
    metrics: async () => [
      {
        name: 'svc_otlp_spans_total',
        type: 'counter',
        help: 'Spans of traces: taken by the collector, given up after its refusal or absence, or dropped because too many waited.',
        labels: ['result'],
        samples: results.map(result => ({ labelValues: [result], value: counts[result] }))
      }
    ]
  }
}
