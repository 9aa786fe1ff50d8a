import { SimpleGrid } from '@mantine/core'
import { count, rate } from '../../format.ts'
import { text } from '../../text/text.ts'
import { Chart } from './Chart.tsx'
import type { Point } from './points.ts'

interface Props {
  readonly title: string // of the speed
  readonly speed: readonly Point[]
  readonly connections: readonly Point[]
}

/** Two charts: throughput in and out, and open connections. */
export const SpeedAndConnections = ({ title, speed, connections }: Props) => (
  <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
    <Chart
      title={title}
      lines={[
        { name: text.overview.in, color: '--line-a' },
        { name: text.overview.out, color: '--line-b' }
      ]}
      points={speed}
      format={rate}
    />
    <Chart
      title={text.overview.connections}
      lines={[{ name: text.overview.connections, color: '--line-a' }]}
      points={connections}
      format={count}
    />
  </SimpleGrid>
)
