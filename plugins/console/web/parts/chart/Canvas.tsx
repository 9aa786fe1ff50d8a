import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import { locale } from '../../text/text.ts'
import type { ChartProps, Line, Point } from './points.ts'
import 'uplot/dist/uPlot.min.css'

interface Props extends Pick<ChartProps, 'lines' | 'points' | 'format' | 'isHistory'> {
  readonly label: string
  readonly onPoint: (index: number | null) => void
}

const height = 180

/** Draws a chart. `label` describes it for screen readers. */
export default function Canvas({ label, lines, points, format, isHistory = false, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(null)
  const scheme = useComputedColorScheme()
  const names = lines.map(({ name }) => name).join('\n')
  const latest = useRef({ lines, points, format, isHistory, onPoint })
  latest.current = { lines, points, format, isHistory, onPoint }
  // biome-ignore lint/correctness/useExhaustiveDependencies: redraws with other colors or lines
  useEffect(() => {
    const { current: place } = box
    if (!place) return
    const drawn = new UPlot(chartOptions(place, latest), toSeries(latest.current.points), place)
    plot.current = drawn
    const watch = new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height }))
    watch.observe(place)
    return () => {
      watch.disconnect()
      drawn.destroy()
    }
  }, [scheme, names])
  useEffect(() => plot.current?.setData(toSeries(points)), [points])
  return <div className="canvas" role="img" aria-label={label} ref={box} />
}

const toSeries = (points: readonly Point[]): UPlot.AlignedData => [
  points.map(({ at }) => at),
  ...(points[0]?.values ?? []).map((_, line) => points.map(({ values }) => values[line] ?? null))
]

function chartOptions(place: HTMLElement, latest: { readonly current: Omit<Props, 'label'> }): UPlot.Options {
  const style = getComputedStyle(place)
  const color = (name: string): string => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--mantine-color-dimmed'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false }
  }
  return {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      ...(latest.current.isHistory && { sync: { key: 'history', scales: ['x', null] } })
    },
    scales: { y: { range: (_, _min, max) => [0, Math.max(1, max ?? 0) * 1.1] } },
    series: [{}, ...latest.current.lines.map(line => toSeriesOptions(line, color))],
    axes: [
      {
        ...axis,
        space: 80,
        size: 28,
        values: (_, times, _axis, _space, step) => times.map(timeFormatter(times, step))
      },
      { ...axis, size: 82, space: 36, incrs: steps, values: (_, values) => values.map(latest.current.format) }
    ],
    hooks: { setCursor: [({ cursor }) => latest.current.onPoint(cursor.idx ?? null)] }
  }
}

/** Increments of the value axis: whole numbers, because there is no half connection. */
const steps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map(step => step * 10 ** power)).flat()

const toSeriesOptions = ({ name, color }: Line, shade: (name: string) => string): UPlot.Series => ({
  label: name,
  stroke: shade(color),
  fill: `${shade(color)}22`,
  width: 1.5,
  spanGaps: false,
  points: { show: true, size: 5, filter: isolatedPoints }
})

/** A single value between two gaps makes no line, so it is drawn as a dot. */
const isolatedPoints: UPlot.Series.Points.Filter = ({ data }, line) => {
  const { [line]: values = [] } = data
  return [...values].flatMap((value, i) =>
    value != null && values[i - 1] == null && values[i + 1] == null ? [i] : []
  )
}

const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
const minutes = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
const days = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric' })

/** Labels of the time axis: days if the chart covers more than two days, else times. */
const timeFormatter = (times: readonly number[], stepSecs: number) => {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * 86_400
  const form = isLong ? days : stepSecs < 60 ? seconds : minutes
  return (secs: number): string => form.format(secs * 1000)
}
