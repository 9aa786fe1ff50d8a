import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { call, type Reply } from '../../api/call.ts'
import { count, percent } from '../../format.ts'
import { ChartGrid } from '../../parts/chart/ChartGrid.tsx'
import { gapAt, type Point } from '../../parts/chart/points.ts'
import { QuerySection } from '../../parts/page/QuerySection.tsx'
import { text } from '../../text/text.ts'
import { RangeSelect } from '../traffic/RangeSelect.tsx'
import { type Range, ranges } from '../traffic/traffic-history.ts'
import type { Client } from './queries.ts'

type Sample = Reply<'GET /v1/clients/{client_id}/health'>[number]

const hostRanges = ['hour', 'day', 'week'] as const // samples are kept for 7 days
const minuteSecs = 60

/** CPU, memory and round-trip time of the host, by minute. */
export function HostHealth({ client: { client_id } }: { readonly client: Client }) {
  const [range, setRange] = useState<Range>('day')
  const health = useQuery({
    queryKey: ['host-health', client_id, range],
    refetchInterval: 30_000,
    queryFn: () => {
      const from = String(Math.floor(Date.now() / 1000) - ranges[range])
      return call('GET /v1/clients/{client_id}/health', { path: { client_id }, query: { from } })
    }
  })
  return (
    <QuerySection
      query={health}
      title={text.clients.host}
      actions={<RangeSelect value={range} onChange={setRange} of={hostRanges} />}
    >
      {samples =>
        samples.length === 0 ? (
          <Text c="dimmed">{text.clients.noHealth}</Text>
        ) : (
          <HealthCharts samples={samples} />
        )
      }
    </QuerySection>
  )
}

function HealthCharts({ samples }: { readonly samples: readonly Sample[] }) {
  const load = useMemo(
    () =>
      toPoints(samples, sample => [
        sample.cpu_percent / 100,
        sample.memory_total_bytes === 0 ? null : sample.memory_used_bytes / sample.memory_total_bytes
      ]),
    [samples]
  )
  const trip = useMemo(() => toPoints(samples, ({ rtt_ms }) => [rtt_ms]), [samples])
  return (
    <ChartGrid
      charts={[
        { title: text.clients.load, lines: loadLines, points: load, format: percent, isHistory: true },
        { title: text.clients.trip, lines: tripLines, points: trip, format: milliseconds, isHistory: true }
      ]}
    />
  )
}

const loadLines = [
  { name: text.clients.cpu, color: '--line-a' },
  { name: text.clients.memory, color: '--line-b' }
]
const tripLines = [{ name: text.clients.trip, color: '--line-a' }]
const milliseconds = (ms: number): string => `${count(ms)} ms`

/** Returns a point for each sample, and a gap where minutes are missing. */
function toPoints(
  samples: readonly Sample[],
  valuesOf: (sample: Sample) => (number | null)[]
): readonly Point[] {
  let last = 0
  return samples.flatMap(sample => {
    const at = Date.parse(sample.at) / 1000
    const values = valuesOf(sample)
    const gap = last > 0 && at - last > 2 * minuteSecs ? [gapAt(last + minuteSecs, values.length)] : []
    last = at
    return [...gap, { at, values }]
  })
}
