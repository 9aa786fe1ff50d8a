import { Dot, type Tone } from '../../parts/Dot.tsx'
import { labelText } from '../../parts/form/labels.ts'
import {
  countColumn,
  linkColumn,
  longTextColumn,
  stateColumn,
  textColumn,
  timeColumn
} from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { stateOf, type User } from './queries.ts'

const toneOf = ({ disabled, password_change_required }: User): Tone =>
  disabled ? 'bad' : password_change_required ? 'warn' : 'good'

export const userColumns: readonly Column<User>[] = [
  linkColumn('id', text.users.id, ({ user_id: id }) => [id, `/users/${id}`], { width: 5 }),
  textColumn('display_name', text.users.name, { width: 7 }),
  { id: 'role', title: text.users.role, value: ({ role }) => text.users.roles[role], width: 6.5 },
  stateColumn('state', text.users.state, user => [stateOf(user), toneOf(user)], { width: 11 }),
  longTextColumn('labels', text.labels.title, ({ labels }) => labelText(labels), { width: 6 }),
  countColumn('rule_count', text.users.rules, { width: 4.5 }),
  countColumn('grant_count', text.users.grants, { width: 6 }),
  timeColumn('created_at', text.users.created, { format: 'ago', width: 6.5 })
]

export const UserState = ({ user }: { readonly user: User }) => (
  <span>
    <Dot tone={toneOf(user)} />
    {stateOf(user)}
  </span>
)
