// The data of a chart, limited to the points that fit on a screen.

export interface Point {
  readonly at: number // seconds
  readonly values: readonly (number | null)[]
}

export interface Line {
  readonly name: string
  readonly color: string // name of a CSS variable
}

export interface ChartProps {
  readonly title: string
  readonly lines: readonly Line[]
  readonly points: readonly Point[]
  readonly format: (value: number) => string
  /** The legend has values only under the pointer: the last point of a history is not now. */
  readonly isHistory?: boolean
}

const maxPoints = 720

/** Adds a point, and a gap if the last point is more than `gapSecs` old. */
export function withPoint(points: readonly Point[], point: Point, gapSecs: number): readonly Point[] {
  const last = points.at(-1)
  if (last && point.at <= last.at) return points
  const gap = last && point.at - last.at > gapSecs ? [gapAt(last.at + 1, point.values.length)] : []
  return [...points, ...gap, point].slice(-maxPoints)
}

export const gapAt = (at: number, lines: number): Point => ({ at, values: Array(lines).fill(null) })

/** Counter totals with the time of the read. */
export interface Reading {
  readonly at: number // ms
  readonly totals: readonly number[]
}

/** Agents report every 5 s. Averaging over two reports avoids waves in the chart. */
const windowMs = 10_000
const minWindowMs = 9000

/** Returns the growth of each total per second over the last readings; null while they cover too little time. */
export function rateOf(readings: readonly Reading[]): readonly number[] | null {
  const last = readings.at(-1)
  if (!last) return null
  const first = readings.find(({ at }) => last.at - at <= windowMs + 1000)
  if (!first || last.at - first.at < minWindowMs) return null
  const secs = (last.at - first.at) / 1000
  return last.totals.map((total, i) => Math.max(0, total - (first.totals[i] ?? total)) / secs)
}

export const withReading = (readings: readonly Reading[], reading: Reading): readonly Reading[] =>
  [...readings, reading].filter(({ at }) => reading.at - at <= 2 * windowMs)
