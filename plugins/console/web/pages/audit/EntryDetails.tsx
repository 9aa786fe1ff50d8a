import { Stack } from '@mantine/core'
import { count } from '../../format.ts'
import { Facts } from '../../parts/Facts.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Actor, Outcome, Subject } from './audit-columns.tsx'
import type { Entry } from './use-entries.ts'
import type { NameRecord } from './use-record-names.ts'

interface Props {
  readonly entry: Entry
  readonly nameOf: NameRecord
}

/** All fields of an entry, with the changes. */
export const EntryDetails = ({ entry, nameOf }: Props) => (
  <Stack>
    <Facts
      facts={[
        { name: text.audit.at, value: <Timestamp at={entry.timestamp} format="seconds" /> },
        { name: text.audit.actor, value: <Actor entry={entry} /> },
        { name: text.audit.action, value: entry.action },
        { name: text.audit.on, value: <Subject entry={entry} nameOf={nameOf} /> },
        { name: text.audit.outcome, value: <Outcome entry={entry} /> },
        { name: text.audit.reason, value: entry.reason && `${entry.reason} (${entry.status})` },
        { name: text.audit.method, value: entry.auth_method },
        { name: text.audit.from, value: entry.remote_addr },
        { name: text.audit.path, value: `${entry.method} ${entry.path}`.trim() || null },
        { name: text.audit.count, value: count(entry.count) },
        {
          name: text.audit.request,
          value: (
            <PageLink to={`/audit?request_id=${entry.request_id}`} title={text.audit.same} size="md">
              {entry.request_id}
            </PageLink>
          )
        }
      ]}
    />
    {entry.changes !== null && <Changes changes={entry.changes} />}
  </Stack>
)

const Changes = ({ changes }: { readonly changes: NonNullable<Entry['changes']> }) => (
  <table className="plain">
    <caption>{text.audit.changes}</caption>
    <thead>
      <tr>
        <th scope="col">{text.audit.field}</th>
        <th scope="col">{text.audit.before}</th>
        <th scope="col">{text.audit.after}</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(({ field, from, to }) => (
        <tr key={field}>
          <th scope="row">{field}</th>
          <td>{format(from)}</td>
          <td>{format(to)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const format = (value: unknown): string => {
  if (value == null) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
