import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import type { Row } from '../../api/call.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { UserLink } from '../users/UserLink.tsx'

export type Ban = Row<'GET /v1/bans'>

const stateOf = ({ state, lifted_by }: Ban): string =>
  lifted_by === null ? text.bans.states[state] : text.bans.liftedBy(lifted_by)

const causeOf = ({ cause, reason, times }: Ban): string =>
  `${reason ?? text.bans.causes[cause]}${times > 1 ? ` · ${text.bans.nth(String(times))}` : ''}`

export const banColumns: readonly Column<Ban>[] = [
  { id: 'source', title: text.bans.source, value: ({ source }) => source, width: 8 },
  {
    id: 'where',
    title: text.bans.where,
    value: ({ client_name }) => client_name,
    cell: ({ client_id, client_name, rule_id }) => (
      <Anchor component={Link} href={rule_id ? `/rules/${rule_id}` : `/clients/${client_id}`} size="sm">
        {client_name}
        {rule_id && ` · ${text.bans.rule} ${rule_id.slice(-6)}`}
      </Anchor>
    ),
    width: 6
  },
  {
    id: 'cause',
    title: text.bans.cause,
    value: causeOf,
    cell: ban => <span title={causeOf(ban)}>{causeOf(ban)}</span>,
    width: 8,
    wide: true
  },
  {
    id: 'by',
    title: text.bans.by,
    value: ({ made_by }) => made_by ?? text.bans.agent,
    cell: ({ made_by }) => (made_by === null ? text.bans.agent : <UserLink id={made_by} />),
    width: 5,
    wide: true
  },
  {
    id: 'began',
    title: text.bans.began,
    value: ({ from }) => Date.parse(from),
    cell: ({ from }) => <Timestamp at={from} format="ago" />,
    width: 6,
    wide: true
  },
  {
    id: 'until',
    title: text.bans.until,
    value: ({ until }) => Date.parse(until),
    cell: ({ until }) => <Timestamp at={until} format="brief" />,
    width: 8.5,
    wide: true
  },
  {
    id: 'state',
    title: text.bans.state,
    value: stateOf,
    cell: ban => (
      <span>
        <span className="dot" data-tone={ban.state === 'in_force' ? 'bad' : undefined} aria-hidden="true" />
        {stateOf(ban)}
      </span>
    ),
    width: 6,
    wide: true
  }
]
