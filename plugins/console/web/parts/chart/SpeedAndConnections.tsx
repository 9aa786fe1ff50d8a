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

/** What flows each way, and the open connections, side by side. */
export const SpeedAndConnections = ({ title, speed, connections }: Props) => (
  <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
    <Chart
      title={title}
      lines={[
        { name: text.overview.toTargets, color: '--line-a' },
        { name: text.overview.toCallers, color: '--line-b' }
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
