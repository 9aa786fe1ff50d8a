import type { Row } from '../../api/call.ts'
import { linkColumn, longTextColumn, stateColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Ban = Row<'GET /v1/bans'>

const stateOf = ({ state, lifted_by }: Ban): string =>
  lifted_by === null ? text.bans.states[state] : text.bans.liftedBy(lifted_by)

const causeOf = ({ cause, reason, times }: Ban): string =>
  `${reason ?? text.bans.causes[cause]}${times > 1 ? ` · ${text.bans.nth(String(times))}` : ''}`

const placeOf = ({ client_name, rule_id }: Ban): string =>
  rule_id ? `${client_name} · ${text.bans.rule} ${rule_id.slice(-6)}` : client_name

const pathOf = ({ client_id, rule_id }: Ban): string =>
  rule_id ? `/rules/${rule_id}` : `/clients/${client_id}`

export const banColumns: readonly Column<Ban>[] = [
  { id: 'source', title: text.bans.source, value: ({ source }) => source, width: 8 },
  linkColumn('where', text.bans.where, placeOf, pathOf, { width: 6 }),
  longTextColumn('cause', text.bans.cause, causeOf, { width: 8, wide: true }),
  linkColumn(
    'by',
    text.bans.by,
    ({ made_by }) => made_by ?? text.bans.agent,
    ({ made_by }) => made_by && `/users/${made_by}`,
    { width: 5, wide: true }
  ),
  timeColumn('began', text.bans.began, ({ from }) => from, { format: 'ago', width: 6, wide: true }),
  timeColumn('until', text.bans.until, ({ until }) => until, { format: 'brief', width: 8.5, wide: true }),
  stateColumn('state', text.bans.state, stateOf, ({ state }) => (state === 'in_force' ? 'bad' : undefined), {
    width: 6,
    wide: true
  })
]
