import { SimpleGrid, Text } from '@mantine/core'
import { useMemo } from 'react'
import { count, rate } from '../../format.ts'
import { Chart } from '../../parts/chart/Chart.tsx'
import { browserTimeZone } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { type History, toPoints } from './traffic-history.ts'

const speedLines = [
  { name: text.traffic.in, color: '--line-a' },
  { name: text.traffic.out, color: '--line-b' }
]
const callerLines = [
  { name: text.traffic.opened, color: '--line-a' },
  { name: text.traffic.refused, color: '--line-bad' }
]

/** Throughput, and opened and refused connections, over the same span. */
export function HistoryCharts({ history }: { readonly history: History }) {
  const { bucket } = history
  const speed = useMemo(
    () => toPoints(history, (sample, secs) => [sample.bytes_in / secs, sample.bytes_out / secs]),
    [history]
  )
  const callers = useMemo(
    () => toPoints(history, ({ connections, refused }) => [connections, refused]),
    [history]
  )
  return (
    <>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
        <Chart title={text.overview.speed} lines={speedLines} points={speed} format={rate} isHistory />
        <Chart
          title={text.traffic.callers[bucket]}
          lines={callerLines}
          points={callers}
          format={count}
          isHistory
        />
      </SimpleGrid>
      <Text size="sm" c="dimmed" mt="xs">
        {text.when.zone(browserTimeZone())} {bucket === '1h' && text.traffic.hours}
      </Text>
    </>
  )
}
