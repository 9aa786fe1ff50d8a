import { Button, Text } from '@mantine/core'
import { bytes, count, duration, rate } from '../../format.ts'
import { linkColumn, textColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { LiveRow } from './use-live-connections.ts'

interface Names {
  readonly clientOf: (client_id: string) => string
  readonly onClose?: (row: LiveRow) => void // without it, no buttons
  readonly hasRule: boolean // false on the page of a rule
}

type LiveColumn = Column<LiveRow>

export function connectionColumns({ clientOf, onClose, hasRule }: Names): readonly LiveColumn[] {
  return [
    textColumn('source', text.connections.source),
    ...(hasRule ? columnsOfRule() : []),
    linkColumn('client', text.rules.client, ({ client_id: id }) => [clientOf(id), `/clients/${id}`], {
      width: 6
    }),
    {
      id: 'target',
      title: text.connections.target,
      value: row => `${targetOf(row)} ${pathOf(row, clientOf)}`.trim(),
      cell: row => (
        <>
          {targetOf(row)}
          {row.via !== null && (
            <Text size="xs" c="dimmed">
              {pathOf(row, clientOf)}
            </Text>
          )}
        </>
      )
    },
    ...numberColumns(),
    ...(onClose ? [closeColumn(onClose)] : [])
  ]
}

/** '→ lyon → oslo, 38.2 ms': the clients after that of the rule. */
const pathOf = ({ via, link_rtt_ms: rtt }: LiveRow, clientOf: Names['clientOf']): string => {
  if (via === null) return ''
  const path = via.map(id => `→ ${clientOf(id)}`).join(' ')
  return rtt === null ? path : `${path}, ${milliseconds(rtt)}`
}

const targetOf = ({ target, divert }: LiveRow): string => {
  if (target === null) return text.connections.connecting
  return divert === null ? target : `${target} (${divert})`
}

const closeColumn = (onClose: (row: LiveRow) => void): LiveColumn => ({
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
})

const columnsOfRule = (): readonly LiveColumn[] => [
  linkColumn('rule', text.connections.rule, row => [portOf(row), `/rules/${row.rule_id}`], { width: 6 }),
  textColumn('owner', text.rules.owner, { width: 6, extra: true })
]

const portOf = ({ listen, protocol }: LiveRow): string => `${/\d+$/.exec(listen)?.[0] ?? listen}/${protocol}`

const words = text.connections
const milliseconds = (n: number): string => `${n.toFixed(1)} ms`

const numberColumns = (): readonly LiveColumn[] => [
  timeColumn('opened_at', words.age, { format: 'ago', width: 6 }),
  numberColumn('in-rate', words.rateIn, ({ rateIn }) => rateIn, rate),
  numberColumn('out-rate', words.rateOut, ({ rateOut }) => rateOut, rate),
  extra(numberColumn('in', words.bytesIn, ({ bytes_in }) => bytes_in, bytes)),
  extra(numberColumn('out', words.bytesOut, ({ bytes_out }) => bytes_out, bytes)),
  extra(numberColumn('idle', words.idle, ({ idle_secs }) => idle_secs * 1000, duration)),
  extra(numberColumn('rtt', words.rtt, ({ rtt_ms }) => rtt_ms?.caller ?? null, milliseconds)),
  extra(numberColumn('resent', words.retransmits, ({ retransmits }) => retransmits?.caller ?? null, count)),
  extra(textColumn('held_by', words.throttledBy, { width: 6 }))
]

/** Hides a column until the user selects it. */
const extra = (column: LiveColumn): LiveColumn => ({ ...column, extra: true })

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
  width: 6
})
