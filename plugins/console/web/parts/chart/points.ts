// What a chart shows: values at times, of which no more are kept than a screen has room for.

export interface Point {
  readonly at: number // seconds
  readonly values: readonly (number | null)[]
}

export interface Line {
  readonly name: string
  readonly color: string // a variable of the style
}

export interface ChartProps {
  readonly title: string
  readonly lines: readonly Line[]
  readonly points: readonly Point[]
  readonly format: (value: number) => string
}

export const maxPoints = 720

/** Adds a point. After a pause longer than `gapSecs` there is a gap. */
export function withPoint(points: readonly Point[], point: Point, gapSecs: number): readonly Point[] {
  const last = points.at(-1)
  if (last && point.at <= last.at) return points
  const gap = last && point.at - last.at > gapSecs ? [nothingAt(last.at + 1, point.values.length)] : []
  return [...points, ...gap, point].slice(-maxPoints)
}

export const nothingAt = (at: number, lines: number): Point => ({ at, values: Array(lines).fill(null) })

/** A total and when it was read. */
export interface Reading {
  readonly at: number // ms
  readonly totals: readonly number[]
}

/** Agents report every 5 s: over twice as long their rhythm is not seen as waves, and not before. */
const overMs = 10_000
const leastMs = 9000

/** Returns how fast totals grow, in units of a second, over the last readings; null before there are two. */
export function rateOf(readings: readonly Reading[]): readonly number[] | null {
  const last = readings.at(-1)
  if (!last) return null
  const first = readings.find(({ at }) => last.at - at <= overMs + 1000)
  if (!first || last.at - first.at < leastMs) return null
  const secs = (last.at - first.at) / 1000
  return last.totals.map((total, i) => Math.max(0, total - (first.totals[i] ?? total)) / secs)
}

export const withReading = (readings: readonly Reading[], reading: Reading): readonly Reading[] =>
  [...readings, reading].filter(({ at }) => reading.at - at <= 2 * overMs)
