import type { Row } from '../../api/call.ts'
import {
  linkColumn,
  longTextColumn,
  stateColumn,
  textColumn,
  timeColumn
} from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Ban = Row<'GET /v1/bans'>

const stateOf = ({ state, lifted_by }: Ban): string =>
  lifted_by === null ? text.bans.states[state] : text.bans.liftedBy(lifted_by)

const causeOf = ({ cause, reason, times }: Ban): string =>
  `${reason ?? text.bans.causes[cause]}${times > 1 ? ` · ${text.bans.nth(String(times))}` : ''}`

const placeOf = ({ client_id, client_name, rule_id }: Ban): readonly [name: string, path: string] =>
  rule_id
    ? [`${client_name} · ${text.bans.rule} ${rule_id.slice(-6)}`, `/rules/${rule_id}`]
    : [client_name, `/clients/${client_id}`]

export const banColumns: readonly Column<Ban>[] = [
  textColumn('source', text.bans.source, { width: 8 }),
  linkColumn('where', text.bans.where, placeOf, { width: 6 }),
  longTextColumn('cause', text.bans.cause, causeOf, { width: 8 }),
  linkColumn(
    'by',
    text.bans.by,
    ({ made_by: id }) => (id === null ? [text.bans.agent, null] : [id, `/users/${id}`]),
    { width: 5 }
  ),
  timeColumn('from', text.bans.began, { format: 'ago', width: 6 }),
  timeColumn('until', text.bans.until, { format: 'brief', width: 8.5 }),
  stateColumn('state', text.bans.state, ban => [stateOf(ban), ban.state === 'in_force' ? 'bad' : undefined], {
    width: 6
  })
]
