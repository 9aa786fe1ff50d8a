import { Anchor, Button } from '@mantine/core'
import { Link } from 'wouter'
import { bytes, count, duration, rate } from '../../format.ts'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { LiveRow } from './use-live-connections.ts'

interface Names {
  readonly edgeOf: (client_id: string) => string
  readonly onClose: (row: LiveRow) => void
  readonly hasRule: boolean // not of one rule alone
}

type LiveColumn = Column<LiveRow>

export function columnsOf({ edgeOf, onClose, hasRule }: Names): readonly LiveColumn[] {
  return [
    { id: 'source', title: text.connections.source, value: ({ source }) => source, width: 10 },
    ...(hasRule ? ruleColumns() : []),
    {
      id: 'edge',
      title: text.rules.edge,
      value: ({ client_id }) => edgeOf(client_id),
      cell: ({ client_id }) => link(`/edges/${client_id}`, edgeOf(client_id)),
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
    ...figures(),
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

const ruleColumns = (): readonly LiveColumn[] => [
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

const figures = (): readonly LiveColumn[] => [
  {
    id: 'age',
    title: text.connections.age,
    value: ({ opened_at }) => Date.parse(opened_at),
    cell: ({ opened_at }) => <When at={opened_at} form="ago" />,
    width: 6,
    wide: true
  },
  number('in-rate', text.connections.inRate, ({ inRate }) => inRate, rate),
  number('out-rate', text.connections.outRate, ({ outRate }) => outRate, rate),
  { ...number('in', text.overview.toTargets, ({ bytes_in }) => bytes_in, bytes), extra: true },
  { ...number('out', text.overview.toCallers, ({ bytes_out }) => bytes_out, bytes), extra: true },
  { ...number('idle', text.connections.idle, ({ idle_secs }) => idle_secs * 1000, duration), extra: true },
  {
    ...number(
      'rtt',
      text.connections.rtt,
      ({ rtt_ms }) => rtt_ms?.caller ?? null,
      n => `${n.toFixed(1)} ms`
    ),
    extra: true
  },
  {
    ...number('resent', text.connections.resent, ({ retransmits }) => retransmits?.caller ?? null, count),
    extra: true
  },
  {
    id: 'held',
    title: text.connections.held,
    value: ({ held_by }) => held_by ?? '',
    width: 6,
    wide: true,
    extra: true
  }
]

const number = (
  id: string,
  title: string,
  of: (row: LiveRow) => number | null,
  format: (value: number) => string
): LiveColumn => ({
  id,
  title,
  value: row => of(row) ?? -1,
  cell: row => {
    const value = of(row)
    return value === null ? '–' : format(value)
  },
  numeric: true,
  width: 6,
  wide: true
})
