import { Button, NativeSelect, SimpleGrid, Text } from '@mantine/core'
import { useState } from 'react'
import { useMe } from '../../api/me.ts'
import { useRight } from '../../api/rights.ts'
import { bytes, count } from '../../format.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { toOptions } from '../../parts/form/to-options.ts'
import { unixToRfc3339 } from '../../parts/local-time.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { bytesColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { useUrlFilter } from '../../parts/use-url-filter.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { UserSelect } from '../users/UserSelect.tsx'
import { HistoryCharts } from './HistoryCharts.tsx'
import {
  type Choice,
  type History,
  type Range,
  ranges,
  type Sample,
  saveFile,
  toCsv,
  useTrafficHistory
} from './traffic-history.ts'

const columns: readonly Column<Sample>[] = [
  {
    id: 'at',
    title: text.traffic.at,
    value: ({ ts }) => ts,
    cell: ({ ts }) => <Timestamp at={unixToRfc3339(ts)} />,
    width: 10
  },
  bytesColumn('bytes_in', text.traffic.in, { width: 7 }),
  bytesColumn('bytes_out', text.traffic.out, { width: 7 }),
  {
    id: 'total',
    title: text.traffic.inAndOut,
    value: ({ bytes_in, bytes_out }) => bytes_in + bytes_out,
    cell: ({ bytes_in, bytes_out }) => bytes(bytes_in + bytes_out),
    width: 7,
    numeric: true
  },
  {
    id: 'connections',
    title: text.traffic.opened,
    value: ({ connections }) => connections,
    cell: ({ connections }) => count(connections),
    width: 7,
    numeric: true
  },
  {
    id: 'refused',
    title: text.traffic.refused,
    value: ({ refused }) => refused,
    cell: ({ refused }) => count(refused),
    width: 7,
    numeric: true
  }
]

/** The filter is in the URL, so that other pages can link to it. */
export default function TrafficPage() {
  const me = useMe().data
  const { filter, set } = useUrlFilter(['user', 'client', 'range'])
  const isTenant = !useRight('seesAll')
  const choice: Choice = {
    user: isTenant ? (me?.user_id ?? '') : filter.user,
    client: filter.client,
    range: filter.range in ranges ? (filter.range as Range) : 'day'
  }
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
        {!isTenant && <UserFilter value={choice.user} onChange={user => set('user', user)} />}
        <ClientSelect
          label={text.traffic.client}
          value={choice.client}
          onChange={client => set('client', client)}
          first={{ value: '', label: text.traffic.allClients }}
        />
        <NativeSelect
          label={text.traffic.range}
          data={toOptions(text.traffic.ranges)}
          value={choice.range}
          onChange={event => set('range', event.currentTarget.value)}
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
  const { samples, total_bytes_in, total_bytes_out } = history
  if (samples.length === 0) return <EmptyState what={text.traffic.empty} />
  return (
    <>
      <HistoryCharts history={history} />
      <Text mt="sm">{text.traffic.total(bytes(total_bytes_in), bytes(total_bytes_out))}</Text>
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
