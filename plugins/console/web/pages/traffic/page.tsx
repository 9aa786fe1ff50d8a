import { Button, NativeSelect, SimpleGrid, Text } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { bytes } from '../../format.ts'
import { Chart } from '../../parts/chart/Chart.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { browserTimeZone, unixToRfc3339 } from '../../parts/local-time.ts'
import { PageHead } from '../../parts/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { bytesColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { UserSelect } from '../users/UserSelect.tsx'
import {
  type Choice,
  type History,
  type Range,
  ranges,
  type Sample,
  saveFile,
  toCsv,
  toPoints,
  useTrafficHistory
} from './traffic-history.ts'

const columns: readonly Column<Sample>[] = [
  timeColumn('at', text.traffic.at, ({ ts }) => unixToRfc3339(ts), { width: 10 }),
  bytesColumn('in', text.traffic.in, ({ bytes_in }) => bytes_in, { width: 7 }),
  bytesColumn('out', text.traffic.out, ({ bytes_out }) => bytes_out, { width: 7 }),
  bytesColumn('total', text.traffic.inAndOut, ({ bytes_in, bytes_out }) => bytes_in + bytes_out, {
    width: 7,
    wide: true
  })
]

const lines = [
  { name: text.traffic.in, color: '--line-a' },
  { name: text.traffic.out, color: '--line-b' }
]

/** The filter is in the URL, so that other pages can link to it. */
export default function TrafficPage() {
  const me = useMe().data
  const [params, setParams] = useSearchParams()
  const isTenant = me?.role !== 'superadmin'
  const asked = params.get('range') ?? 'day'
  const choice: Choice = {
    user: isTenant ? (me?.user_id ?? '') : (params.get('user') ?? ''),
    client: params.get('client') ?? '',
    range: asked in ranges ? (asked as Range) : 'day'
  }
  const set = (name: keyof Choice) => (value: string) =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  const history = useTrafficHistory(choice)
  return (
    <>
      <PageHead title={text.pages.traffic}>
        <Button
          variant="default"
          disabled={!history.data?.samples.length}
          onClick={() =>
            history.data && saveFile(`traffic-${nameOf(choice)}.csv`, toCsv(history.data.samples))
          }
        >
          {text.traffic.csv}
        </Button>
      </PageHead>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mb="lg">
        {!isTenant && <UserFilter value={choice.user} onChange={set('user')} />}
        <ClientSelect
          label={text.traffic.client}
          value={choice.client}
          onChange={set('client')}
          first={{ value: '', label: text.traffic.allClients }}
        />
        <NativeSelect
          label={text.traffic.range}
          data={Object.entries(text.traffic.ranges).map(([value, label]) => ({ value, label }))}
          value={choice.range}
          onChange={event => set('range')(event.currentTarget.value)}
        />
      </SimpleGrid>
      <QueryResult query={history}>{found => <TrafficView history={found} />}</QueryResult>
    </>
  )
}

/** Applies on submit or blur, not while the user types. */
function UserFilter({
  value,
  onChange
}: {
  readonly value: string
  readonly onChange: (user: string) => void
}) {
  const [typed, type] = useState(value)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        onChange(typed.trim())
      }}
      onBlur={() => onChange(typed.trim())}
    >
      <UserSelect
        label={text.traffic.user}
        value={typed}
        onChange={type}
        placeholder={text.traffic.allUsers}
      />
    </form>
  )
}

function TrafficView({ history }: { readonly history: History }) {
  const { samples, bucket, total_bytes_in, total_bytes_out } = history
  if (samples.length === 0) return <EmptyState what={text.traffic.empty} />
  return (
    <>
      <Chart title={text.traffic.chart[bucket]} lines={lines} points={toPoints(history)} format={bytes} />
      <Text mt="sm">{text.traffic.total(bytes(total_bytes_in), bytes(total_bytes_out))}</Text>
      <Text size="sm" c="dimmed">
        {text.when.zone(browserTimeZone())} {bucket === '1h' && text.traffic.hours}
      </Text>
      <Section title={text.traffic.rows}>
        <Table
          name="traffic"
          what={text.traffic.what}
          rows={samples.toReversed()}
          columns={columns}
          idOf={({ ts }) => String(ts)}
          empty={null}
        />
      </Section>
    </>
  )
}

const nameOf = ({ user, client, range }: Choice): string =>
  [user || 'all', client, range].filter(Boolean).join('-')
