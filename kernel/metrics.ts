import type { Metric } from './base/metric.ts'
import { defineSlot } from './slot.ts'

export type * from './base/metric.ts'
export type Metrics = () => Promise<readonly Metric[]>

/** Called for each scrape. Two plugins may add samples to one metric, with different label values. */
export const metricsSlot = defineSlot<Metrics>('kernel.metrics')
