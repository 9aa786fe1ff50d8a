import { count } from '../../format.ts'
import { Dot } from '../../parts/Dot.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { textColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { UserLink } from '../users/UserLink.tsx'
import type { Entry } from './use-entries.ts'
import type { NameRecord } from './use-record-names.ts'

const pages: Readonly<Record<string, (id: string) => string>> = {
  rule: id => `/rules/${id}`,
  client: id => `/clients/${id}`,
  user: id => `/users/${id}`,
  source_list: id => `/sources/${id}`,
  settings: () => '/settings'
}

/** 'rule paris:8443/tcp' */
const subjectOf = (entry: Entry, nameOf: NameRecord): string => {
  const kind = entry.resource_kind ?? entry.action.split('.')[0] ?? ''
  return [text.audit.kinds[kind] ?? kind, nameOf(entry)].filter(Boolean).join(' ')
}

interface SubjectProps {
  readonly entry: Entry
  readonly nameOf: NameRecord
}

/** The changed record, with a link if it has a page. The tooltip has its id. */
export function Subject({ entry, nameOf }: SubjectProps) {
  const { resource_kind: kind, resource_id: id } = entry
  if (kind === null) return '–'
  const to = id !== null && Object.hasOwn(pages, kind) ? pages[kind]?.(id) : undefined
  const name = subjectOf(entry, nameOf)
  const title = `${kind} ${id ?? ''}`
  if (to === undefined) return <span title={title}>{name}</span>
  return (
    <PageLink to={to} title={title}>
      {name}
    </PageLink>
  )
}

/** 'created', 'deleted' */
export const verbOf = ({ action }: Pick<Entry, 'action'>): string =>
  text.audit.verbs[action] ?? text.audit.verbs[action.split('.')[1] ?? ''] ?? action

export const Actor = ({ entry: { actor } }: { readonly entry: Entry }) =>
  actor === null ? text.audit.nobody : actor.startsWith('_') ? actor : <UserLink id={actor} />

/** A request that was allowed, but failed, changed nothing. */
const shownOutcome = ({ outcome, status }: Entry) =>
  outcome === 'allow' && status !== null && status >= 400 ? 'fail' : outcome

const tones = { allow: 'good', deny: 'bad', fail: 'warn' } as const

/** '×12' means that the entry stands for 12 denied requests. */
export const Outcome = ({ entry }: { readonly entry: Entry }) => {
  const { status, reason, count: times } = entry
  const why = reason === null ? '' : (text.errors[reason] ?? reason)
  return (
    <span title={why}>
      <Dot tone={tones[shownOutcome(entry)]} />
      {text.audit.outcomes[shownOutcome(entry)]}
      {status === null && ` (${text.audit.pending})`}
      {why !== '' && `: ${why}`}
      {times > 1 && ` ×${count(times)}`}
    </span>
  )
}

export const auditColumns = (nameOf: NameRecord): readonly Column<Entry>[] => [
  timeColumn('timestamp', text.audit.at, { format: 'brief', width: 11 }),
  {
    id: 'actor',
    title: text.audit.actor,
    value: ({ actor }) => actor ?? text.audit.nobody,
    cell: entry => <Actor entry={entry} />,
    width: 6
  },
  textColumn('action', text.audit.action, { width: 9 }),
  {
    id: 'on',
    title: text.audit.on,
    value: entry => `${subjectOf(entry, nameOf)} ${entry.resource_id ?? ''}`,
    cell: entry => <Subject entry={entry} nameOf={nameOf} />,
    width: 11
  },
  {
    id: 'outcome',
    title: text.audit.outcome,
    value: entry => `${text.audit.outcomes[shownOutcome(entry)]} ${entry.status ?? ''} ${entry.reason ?? ''}`,
    cell: entry => <Outcome entry={entry} />,
    width: 11
  }
]
