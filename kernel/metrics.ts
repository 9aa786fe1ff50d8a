import { defineSlot } from './slot.ts'

/** One figure about what runs, in Prometheus' terms. */
export interface Metric {
  readonly name: string // 'svc_clients_connected'
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  readonly samples: Iterable<MetricSample> // each set of label values once
}

export interface MetricSample {
  readonly labelValues: readonly string[] // values of the labels, in their order
  readonly value: number | Histogram
}

/** Of a histogram: how many were at most each bound and above the one before; the last count is of those beyond. */
export interface Histogram {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

export type Metrics = () => Promise<readonly Metric[]>

/** What a plugin can tell, asked whenever somebody looks. Two may tell of one figure, if no reading is in both. */
export const metricsSlot = defineSlot<Metrics>('kernel.metrics')
