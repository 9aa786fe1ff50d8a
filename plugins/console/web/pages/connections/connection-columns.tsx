import { Anchor, Button } from '@mantine/core'
import { Link } from 'wouter'
import { bytes, count, duration, rate } from '../../format.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { LiveRow } from './use-live-connections.ts'

interface Names {
  readonly clientOf: (client_id: string) => string
  readonly onClose: (row: LiveRow) => void
  readonly hasRule: boolean // false on the page of a rule
}

type LiveColumn = Column<LiveRow>

export function connectionColumns({ clientOf, onClose, hasRule }: Names): readonly LiveColumn[] {
  return [
    { id: 'source', title: text.connections.source, value: ({ source }) => source, width: 10 },
    ...(hasRule ? columnsOfRule() : []),
    {
      id: 'client',
      title: text.rules.client,
      value: ({ client_id }) => clientOf(client_id),
      cell: ({ client_id }) => link(`/clients/${client_id}`, clientOf(client_id)),
      width: 6,
      wide: true
    },
    {
      id: 'target',
      title: text.connections.target,
      value: ({ target }) => target ?? text.connections.connecting,
      width: 10,
      wide: true
    },
    ...numberColumns(),
    {
      id: 'close',
      title: '',
      value: () => '',
      cell: row => (
        <Button
          size="compact-xs"
          variant="default"
          c="var(--bad)"
          aria-label={text.connections.closeOne(row.source)}
          onClick={() => onClose(row)}
        >
          {text.connections.close}
        </Button>
      ),
      width: 5
    }
  ]
}

const link = (to: string, words: string) => (
  <Anchor component={Link} href={to} size="sm">
    {words}
  </Anchor>
)

const columnsOfRule = (): readonly LiveColumn[] => [
  {
    id: 'rule',
    title: text.connections.rule,
    value: portOf,
    cell: row => link(`/rules/${row.rule_id}`, portOf(row)),
    width: 6
  },
  { id: 'owner', title: text.rules.owner, value: ({ owner }) => owner, width: 6, wide: true, extra: true }
]

const portOf = ({ listen, protocol }: LiveRow): string => `${/\d+$/.exec(listen)?.[0] ?? listen}/${protocol}`

const numberColumns = (): readonly LiveColumn[] => [
  {
    id: 'age',
    title: text.connections.age,
    value: ({ opened_at }) => Date.parse(opened_at),
    cell: ({ opened_at }) => <Timestamp at={opened_at} format="ago" />,
    width: 6,
    wide: true
  },
  numberColumn('in-rate', text.connections.rateIn, ({ rateIn }) => rateIn, rate),
  numberColumn('out-rate', text.connections.rateOut, ({ rateOut }) => rateOut, rate),
  { ...numberColumn('in', text.connections.bytesIn, ({ bytes_in }) => bytes_in, bytes), extra: true },
  { ...numberColumn('out', text.connections.bytesOut, ({ bytes_out }) => bytes_out, bytes), extra: true },
  {
    ...numberColumn('idle', text.connections.idle, ({ idle_secs }) => idle_secs * 1000, duration),
    extra: true
  },
  {
    ...numberColumn(
      'rtt',
      text.connections.rtt,
      ({ rtt_ms }) => rtt_ms?.caller ?? null,
      n => `${n.toFixed(1)} ms`
    ),
    extra: true
  },
  {
    ...numberColumn(
      'resent',
      text.connections.retransmits,
      ({ retransmits }) => retransmits?.caller ?? null,
      count
    ),
    extra: true
  },
  {
    id: 'held',
    title: text.connections.throttledBy,
    value: ({ held_by }) => held_by ?? '',
    width: 6,
    wide: true,
    extra: true
  }
]

const numberColumn = (
  id: string,
  title: string,
  read: (row: LiveRow) => number | null,
  format: (value: number) => string
): LiveColumn => ({
  id,
  title,
  value: row => read(row) ?? -1,
  cell: row => {
    const value = read(row)
    return value === null ? '–' : format(value)
  },
  numeric: true,
  width: 6,
  wide: true
})
