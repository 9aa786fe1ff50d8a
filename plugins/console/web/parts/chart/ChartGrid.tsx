import { SimpleGrid } from '@mantine/core'
import { Chart } from './Chart.tsx'
import type { ChartProps } from './points.ts'

/** Charts side by side, or below each other on a narrow page. */
export const ChartGrid = ({ charts }: { readonly charts: readonly ChartProps[] }) => (
  <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg" verticalSpacing="lg">
    {charts.map(chart => (
      <Chart key={chart.title} {...chart} />
    ))}
  </SimpleGrid>
)
