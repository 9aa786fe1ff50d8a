import { Button, NativeSelect, SimpleGrid, Text } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { bytes } from '../../format.ts'
import { Chart } from '../../parts/chart/Chart.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { ofUnix, zone } from '../../parts/local-time.ts'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../clients/ClientSelect.tsx'
import { UserSelect } from '../users/UserSelect.tsx'
import {
  type Choice,
  csvOf,
  type History,
  pointsOf,
  type Range,
  ranges,
  type Sample,
  save,
  useHistory
} from './traffic-history.ts'

const titles = {
  toTargets: text.connections.inRate,
  toCallers: text.connections.outRate,
  both: text.traffic.both
}

const columns: readonly Column<Sample>[] = [
  {
    id: 'at',
    title: text.traffic.at,
    value: ({ ts }) => ts,
    cell: ({ ts }) => <When at={ofUnix(ts)} />,
    width: 10
  },
  ...(['toTargets', 'toCallers', 'both'] as const).map(
    (name): Column<Sample> => ({
      id: name,
      title: titles[name],
      value: bytesOf(name),
      cell: sample => bytes(bytesOf(name)(sample)),
      width: 7,
      numeric: true,
      ...(name === 'both' && { wide: true })
    })
  )
]

function bytesOf(name: 'toTargets' | 'toCallers' | 'both') {
  return ({ bytes_in, bytes_out }: Sample): number =>
    ({ toTargets: bytes_in, toCallers: bytes_out, both: bytes_in + bytes_out })[name]
}

const lines = [
  { name: text.traffic.toTargets, color: '--line-a' },
  { name: text.traffic.toCallers, color: '--line-b' }
]

/** The choice is in the address: other pages lead to what they count. */
export default function TrafficPage() {
  const me = useMe().data
  const [params, setParams] = useSearchParams()
  const isTenant = me?.role !== 'superadmin'
  const asked = params.get('range') ?? 'day'
  const choice: Choice = {
    user: isTenant ? (me?.user_id ?? '') : (params.get('user') ?? ''),
    edge: params.get('edge') ?? '',
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
  const history = useHistory(choice)
  return (
    <>
      <Head title={text.pages.traffic}>
        <Button
          variant="default"
          disabled={!history.data?.samples.length}
          onClick={() => history.data && save(`traffic-${nameOf(choice)}.csv`, csvOf(history.data.samples))}
        >
          {text.traffic.csv}
        </Button>
      </Head>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mb="lg">
        {!isTenant && <Whose value={choice.user} onChange={set('user')} />}
        <EdgeSelect
          label={text.traffic.edge}
          value={choice.edge}
          onChange={set('edge')}
          first={{ value: '', label: text.traffic.everyEdge }}
        />
        <NativeSelect
          label={text.traffic.range}
          data={Object.entries(text.traffic.ranges).map(([value, label]) => ({ value, label }))}
          value={choice.range}
          onChange={event => set('range')(event.currentTarget.value)}
        />
      </SimpleGrid>
      <Loaded query={history}>{found => <Shown history={found} />}</Loaded>
    </>
  )
}

/** Asks for the user when the name is whole: not with each letter of it. */
function Whose({ value, onChange }: { readonly value: string; readonly onChange: (user: string) => void }) {
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
        label={text.traffic.who}
        value={typed}
        onChange={type}
        placeholder={text.traffic.everybody}
      />
    </form>
  )
}

function Shown({ history }: { readonly history: History }) {
  const { samples, bucket, total_bytes_in, total_bytes_out } = history
  if (samples.length === 0) return <Empty what={text.traffic.empty} />
  return (
    <>
      <Chart title={text.traffic.chart[bucket]} lines={lines} points={pointsOf(history)} format={bytes} />
      <Text mt="sm">{text.traffic.total(bytes(total_bytes_in), bytes(total_bytes_out))}</Text>
      <Text size="sm" c="dimmed">
        {text.when.zone(zone())} {bucket === '1h' && text.traffic.hours}
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

const nameOf = ({ user, edge, range }: Choice): string =>
  [user || 'all', edge, range].filter(Boolean).join('-')
