import { Anchor, Button } from '@mantine/core'
import { Link } from 'wouter'
import { bytes, duration, rate } from '../../format.ts'
import type { Column } from '../../parts/table/rows.ts'
import { When } from '../../parts/When.tsx'
import { text } from '../../text/text.ts'
import type { LiveRow } from './use-live.ts'

interface Names {
  readonly edgeOf: (client_id: string) => string
  readonly onClose: (row: LiveRow) => void
  readonly hasRule: boolean // not of one rule alone
}

const speed = (id: string, title: string, numberOf: (row: LiveRow) => number | null): Column<LiveRow> => ({
  id,
  title,
  value: row => numberOf(row) ?? -1,
  cell: row => {
    const value = numberOf(row)
    return value === null ? '–' : rate(value)
  },
  numeric: true,
  width: 7,
  wide: true
})

const amount = (id: string, title: string, numberOf: (row: LiveRow) => number): Column<LiveRow> => ({
  id,
  title,
  value: numberOf,
  cell: row => bytes(numberOf(row)),
  numeric: true,
  width: 6,
  wide: true
})

export function columnsOf({ edgeOf, onClose, hasRule }: Names): readonly Column<LiveRow>[] {
  const link = (to: string, words: string) => (
    <Anchor component={Link} href={to} size="sm">
      {words}
    </Anchor>
  )
  const port = ({ listen, protocol }: LiveRow): string => `${/\d+$/.exec(listen)?.[0] ?? listen}/${protocol}`
  const ofRule: readonly Column<LiveRow>[] = [
    {
      id: 'rule',
      title: text.connections.rule,
      value: port,
      cell: row => link(`/rules/${row.rule_id}`, port(row)),
      width: 6
    },
    { id: 'owner', title: text.rules.owner, value: ({ owner }) => owner, width: 6, wide: true }
  ]
  return [
    { id: 'source', title: text.connections.source, value: ({ source }) => source, width: 10 },
    ...(hasRule ? ofRule : []),
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
    {
      id: 'age',
      title: text.connections.age,
      value: ({ opened_at }) => -Date.parse(opened_at),
      cell: ({ opened_at }) => <When at={opened_at} form="ago" />,
      width: 6
    },
    speed('in-rate', text.connections.inRate, ({ inRate }) => inRate),
    speed('out-rate', text.connections.outRate, ({ outRate }) => outRate),
    amount('in', text.overview.toTargets, ({ bytes_in }) => bytes_in),
    amount('out', text.overview.toCallers, ({ bytes_out }) => bytes_out),
    {
      id: 'idle',
      title: text.connections.idle,
      value: ({ idle_secs }) => idle_secs,
      cell: ({ idle_secs }) => duration(idle_secs * 1000),
      numeric: true,
      width: 5,
      wide: true
    },
    { id: 'held', title: text.connections.held, value: ({ held_by }) => held_by ?? '', width: 6, wide: true },
    {
      id: 'close',
      title: text.connections.close,
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
      width: 6
    }
  ]
}
