import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { count } from '../../format.ts'
import type { Column } from '../../parts/table/rows.ts'
import { When } from '../../parts/When.tsx'
import { text } from '../../text/text.ts'
import { UserLink } from '../users/UserLink.tsx'
import type { Entry } from './entries.ts'

const pages: Readonly<Record<string, (id: string) => string>> = {
  rule: id => `/rules/${id}`,
  client: id => `/edges/${id}`,
  user: id => `/users/${id}`,
  source_list: id => `/sources/${id}`,
  settings: () => '/settings'
}

/** What was changed, as a link where it has a page. */
export function On({ entry: { resource_kind: kind, resource_id: id } }: { readonly entry: Entry }) {
  if (kind === null) return '–'
  const to = id !== null && Object.hasOwn(pages, kind) ? pages[kind]?.(id) : undefined
  const name = `${kind} ${id ?? ''}`
  return to === undefined ? (
    <span title={name}>{name}</span>
  ) : (
    <Anchor component={Link} href={to} size="sm" title={name}>
      {name}
    </Anchor>
  )
}

export const Who = ({ entry: { actor } }: { readonly entry: Entry }) =>
  actor === null ? text.audit.nobody : actor.startsWith('_') ? actor : <UserLink id={actor} />

export const Outcome = ({ entry: { outcome, status } }: { readonly entry: Entry }) => (
  <span>
    <span
      className="dot"
      data-tone={outcome === 'deny' ? 'bad' : status !== null && status >= 400 ? 'warn' : 'good'}
      aria-hidden="true"
    />
    {text.audit.outcomes[outcome]} {status ?? text.audit.pending}
  </span>
)

export const columns: readonly Column<Entry>[] = [
  {
    id: 'at',
    title: text.audit.at,
    value: ({ timestamp }) => Date.parse(timestamp),
    cell: ({ timestamp }) => <When at={timestamp} />,
    width: 10
  },
  {
    id: 'actor',
    title: text.audit.actor,
    value: ({ actor }) => actor ?? text.audit.nobody,
    cell: entry => <Who entry={entry} />,
    width: 7,
    wide: true
  },
  { id: 'action', title: text.audit.action, value: ({ action }) => action, width: 9 },
  {
    id: 'on',
    title: text.audit.on,
    value: ({ resource_kind, resource_id }) => `${resource_kind ?? ''} ${resource_id ?? ''}`,
    cell: entry => <On entry={entry} />,
    width: 12,
    wide: true
  },
  {
    id: 'outcome',
    title: text.audit.outcome,
    value: ({ outcome, status }) => `${text.audit.outcomes[outcome]} ${status ?? text.audit.pending}`,
    cell: entry => <Outcome entry={entry} />,
    width: 8,
    wide: true
  },
  { id: 'reason', title: text.audit.reason, value: ({ reason }) => reason ?? '', width: 8, wide: true },
  { id: 'from', title: text.audit.from, value: ({ remote_addr }) => remote_addr ?? '', width: 8, wide: true },
  {
    id: 'count',
    title: text.audit.count,
    value: ({ count }) => count,
    cell: entry => count(entry.count),
    width: 5,
    numeric: true,
    wide: true
  }
]
