import { count } from '../../format.ts'
import { labelText } from '../../parts/form/labels.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { stateOf, type User } from './queries.ts'
import { UserLink } from './UserLink.tsx'

export const userColumns: readonly Column<User>[] = [
  {
    id: 'id',
    title: text.users.id,
    value: ({ user_id }) => user_id,
    cell: ({ user_id }) => <UserLink id={user_id} />,
    width: 5
  },
  { id: 'name', title: text.users.name, value: ({ display_name }) => display_name, width: 7, wide: true },
  { id: 'role', title: text.users.role, value: ({ role }) => text.users.roles[role], width: 6.5 },
  {
    id: 'state',
    title: text.users.state,
    value: stateOf,
    cell: user => <UserState user={user} />,
    width: 11
  },
  {
    id: 'labels',
    title: text.labels.title,
    value: ({ labels }) => labelText(labels),
    cell: ({ labels }) => <span title={labelText(labels)}>{labelText(labels)}</span>,
    width: 6,
    wide: true
  },
  ...(['rules', 'grants'] as const).map(
    (name): Column<User> => ({
      id: name,
      title: text.users[name],
      value: countOf(name),
      cell: user => count(countOf(name)(user)),
      width: name === 'rules' ? 4.5 : 6,
      numeric: true,
      wide: true
    })
  ),
  {
    id: 'created',
    title: text.users.created,
    value: ({ created_at }) => Date.parse(created_at),
    cell: ({ created_at }) => <Timestamp at={created_at} format="ago" />,
    width: 6.5,
    wide: true
  }
]

function countOf(name: 'rules' | 'grants') {
  return ({ rule_count, grant_count }: User): number => (name === 'rules' ? rule_count : grant_count)
}

export const UserState = ({ user }: { readonly user: User }) => (
  <span>
    <span
      className="dot"
      data-tone={user.disabled ? 'bad' : user.password_change_required ? 'warn' : 'good'}
      aria-hidden="true"
    />
    {stateOf(user)}
  </span>
)
