// The charts of a traffic history. All of them have a point at the same times.
import { count, rate } from '../../format.ts'
import type { ChartProps } from '../../parts/chart/points.ts'
import { text } from '../../text/text.ts'
import { type History, type Sample, toPoints } from './traffic-history.ts'

const speedLines = [
  { name: text.traffic.in, color: '--line-a' },
  { name: text.traffic.out, color: '--line-b' }
]

/** Throughput in and out. */
export const speedChart = (history: History): ChartProps => ({
  title: text.overview.speed,
  lines: speedLines,
  points: toPoints(history, ({ bytes_in, bytes_out }, secs) => [bytes_in / secs, bytes_out / secs]),
  format: rate,
  isHistory: true
})

const opened = { name: text.traffic.opened, color: '--line-a', read: (sample: Sample) => sample.connections }
const refused = { name: text.traffic.refused, color: '--line-bad', read: (sample: Sample) => sample.refused }

const countChart =
  (title: (history: History) => string, lines: readonly (typeof opened)[]) =>
  (history: History): ChartProps => ({
    title: title(history),
    lines,
    points: toPoints(history, sample => lines.map(({ read }) => read(sample))),
    format: count,
    isHistory: true
  })

const callers = ({ bucket }: History): string => text.traffic.callers[bucket]

/** Opened and refused connections. */
export const callersChart = countChart(callers, [opened, refused])
export const openedChart = countChart(callers, [opened])
export const refusedChart = countChart(({ bucket }) => text.traffic.refusals[bucket], [refused])
