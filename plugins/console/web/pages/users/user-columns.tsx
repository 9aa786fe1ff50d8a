import { Dot, type Tone } from '../../parts/Dot.tsx'
import { labelText } from '../../parts/form/labels.ts'
import {
  countColumn,
  linkColumn,
  longTextColumn,
  stateColumn,
  timeColumn
} from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { stateOf, type User } from './queries.ts'

const toneOf = ({ disabled, password_change_required }: User): Tone =>
  disabled ? 'bad' : password_change_required ? 'warn' : 'good'

export const userColumns: readonly Column<User>[] = [
  linkColumn(
    'id',
    text.users.id,
    ({ user_id }) => user_id,
    ({ user_id }) => `/users/${user_id}`,
    { width: 5 }
  ),
  { id: 'name', title: text.users.name, value: ({ display_name }) => display_name, width: 7, wide: true },
  { id: 'role', title: text.users.role, value: ({ role }) => text.users.roles[role], width: 6.5 },
  stateColumn('state', text.users.state, stateOf, toneOf, { width: 11 }),
  longTextColumn('labels', text.labels.title, ({ labels }) => labelText(labels), { width: 6, wide: true }),
  countColumn('rules', text.users.rules, ({ rule_count }) => rule_count, { width: 4.5, wide: true }),
  countColumn('grants', text.users.grants, ({ grant_count }) => grant_count, { width: 6, wide: true }),
  timeColumn('created', text.users.created, ({ created_at }) => created_at, {
    format: 'ago',
    width: 6.5,
    wide: true
  })
]

export const UserState = ({ user }: { readonly user: User }) => (
  <span>
    <Dot tone={toneOf(user)} />
    {stateOf(user)}
  </span>
)
