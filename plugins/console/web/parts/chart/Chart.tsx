import { Skeleton, Text } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { brief } from '../../format.ts'
import { text } from '../../text/text.ts'
import type { ChartProps } from './points.ts'
import './chart.css'

// The chart library is a separate chunk.
const Canvas = lazy(() => import('./Canvas.tsx'))

/** A line chart over time. A null value is a gap: nothing was reported then. */
export function Chart({ title, lines, points, format, isHistory = false }: ChartProps) {
  const [at, setAt] = useState<number | null>(null)
  const shown = points[at ?? (isHistory ? -1 : points.length - 1)]
  const show = (value: number | null | undefined): string => (value == null ? '–' : format(value))
  const describe = (name: string, line: number): string => {
    if (!isHistory) return `${name} ${show(points.at(-1)?.values[line])}`
    return text.chart.upTo(name, format(Math.max(0, ...points.map(({ values }) => values[line] ?? 0))))
  }
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong>
        {lines.map(({ name, color }, i) => (
          <span key={name}>
            <span className="key" style={{ background: `var(${color})` }} aria-hidden="true" />
            {name}
            {shown && <span className="now">: {show(shown.values[i])}</span>}
          </span>
        ))}
        {isHistory && shown && <span className="now">{brief(new Date(shown.at * 1000).toISOString())}</span>}
      </figcaption>
      {points.length < 2 ? (
        <Text c="dimmed" size="sm" className="chart-wait">
          {text.chart.waiting}
        </Text>
      ) : (
        <Suspense fallback={<Skeleton height={180} />}>
          <Canvas
            label={`${title}: ${lines.map(({ name }, i) => describe(name, i)).join(', ')}`}
            lines={lines}
            points={points}
            format={format}
            isHistory={isHistory}
            onPoint={setAt}
          />
        </Suspense>
      )}
    </figure>
  )
}
