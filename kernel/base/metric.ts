/** A metric family of Prometheus. */
export interface Metric {
  readonly name: string // 'svc_clients_connected'
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  readonly samples: Iterable<MetricSample> // no set of label values twice
}

export interface MetricSample {
  readonly labelValues: readonly string[] // in the order of `labels`
  readonly text?: string // of labels and values, as the format has it: made once where many samples share it
  readonly value: number | Histogram
}

/** `counts[i]` is the number of values above `bounds[i - 1]` and at most `bounds[i]`; the last count has no upper bound. */
export interface Histogram {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

/** Adds one to a count. A key has the label values, separated by spaces. */
export const increment = (counts: Map<string, number>, key: string): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1)

export const samplesOf = (counts: ReadonlyMap<string, number>): MetricSample[] =>
  [...counts].map(([key, value]) => ({ labelValues: key.split(' '), value }))
