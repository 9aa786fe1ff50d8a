import { Text } from '@mantine/core'
import { useMemo } from 'react'
import { ChartGrid } from '../../parts/chart/ChartGrid.tsx'
import type { ChartProps } from '../../parts/chart/points.ts'
import { browserTimeZone } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { callersChart, speedChart } from './history-charts.ts'
import type { History } from './traffic-history.ts'

export type ChartsOf = (history: History) => readonly ChartProps[]

interface Props {
  readonly history: History
  readonly chartsOf?: ChartsOf // default: throughput, and opened and refused connections
}

/** Charts over the same span. */
export function HistoryCharts({ history, chartsOf = defaultCharts }: Props) {
  const charts = useMemo(() => chartsOf(history), [history, chartsOf])
  return (
    <>
      <ChartGrid charts={charts} />
      <Text c="dimmed" mt="xs">
        {text.when.zone(browserTimeZone())} {history.bucket === '1h' && text.traffic.hours}
      </Text>
    </>
  )
}

const defaultCharts: ChartsOf = history => [speedChart(history), callersChart(history)]
