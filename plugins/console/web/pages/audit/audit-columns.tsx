import { count } from '../../format.ts'
import { Dot } from '../../parts/Dot.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { textColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { useClientsById } from '../clients/queries.ts'
import { UserLink } from '../users/UserLink.tsx'
import type { Entry } from './use-entries.ts'

const pages: Readonly<Record<string, (id: string) => string>> = {
  rule: id => `/rules/${id}`,
  client: id => `/clients/${id}`,
  user: id => `/users/${id}`,
  source_list: id => `/sources/${id}`,
  settings: () => '/settings'
}

/** The changed record, with a link if it has a page. */
export function Subject({ entry: { resource_kind: kind, resource_id: id, rule_name } }: SubjectProps) {
  const clients = useClientsById()
  if (kind === null) return '–'
  const to = id !== null && Object.hasOwn(pages, kind) ? pages[kind]?.(id) : undefined
  const known = rule_name ?? (kind === 'client' ? clients.get(id ?? '')?.client_name : undefined)
  const name = `${kind} ${known ?? id ?? ''}`
  const title = `${kind} ${id ?? ''}`
  if (to === undefined) return <span title={title}>{name}</span>
  return (
    <PageLink to={to} title={title}>
      {name}
    </PageLink>
  )
}

interface SubjectProps {
  readonly entry: Pick<Entry, 'resource_kind' | 'resource_id' | 'rule_name'>
}

export const Actor = ({ entry: { actor } }: { readonly entry: Entry }) =>
  actor === null ? text.audit.nobody : actor.startsWith('_') ? actor : <UserLink id={actor} />

/** A request that was allowed, but failed, changed nothing. */
const shownOutcome = ({ outcome, status }: Entry) =>
  outcome === 'allow' && status !== null && status >= 400 ? 'fail' : outcome

const tones = { allow: 'good', deny: 'bad', fail: 'warn' } as const

/** '×12' means that the entry stands for 12 denied requests. */
export const Outcome = ({ entry }: { readonly entry: Entry }) => {
  const { status, reason, count: times } = entry
  return (
    <span>
      <Dot tone={tones[shownOutcome(entry)]} />
      {text.audit.outcomes[shownOutcome(entry)]} {status ?? text.audit.pending} {reason}
      {times > 1 && ` ×${count(times)}`}
    </span>
  )
}

export const auditColumns: readonly Column<Entry>[] = [
  timeColumn('timestamp', text.audit.at, { format: 'brief', width: 11 }),
  {
    id: 'actor',
    title: text.audit.actor,
    value: ({ actor }) => actor ?? text.audit.nobody,
    cell: entry => <Actor entry={entry} />,
    width: 6,
    wide: true
  },
  textColumn('action', text.audit.action, { width: 9 }),
  {
    id: 'on',
    title: text.audit.on,
    value: ({ resource_kind, resource_id, rule_name }) =>
      `${resource_kind ?? ''} ${rule_name ?? ''} ${resource_id ?? ''}`,
    cell: entry => <Subject entry={entry} />,
    width: 11,
    wide: true
  },
  {
    id: 'outcome',
    title: text.audit.outcome,
    value: entry =>
      `${text.audit.outcomes[shownOutcome(entry)]} ${entry.status ?? text.audit.pending} ${entry.reason ?? ''}`,
    cell: entry => <Outcome entry={entry} />,
    width: 13,
    wide: true
  }
]
