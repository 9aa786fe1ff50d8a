import { Stack } from '@mantine/core'
import { count } from '../../format.ts'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { PageLink } from '../../parts/PageLink.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Actor, Outcome, Subject } from './audit-columns.tsx'
import type { Entry } from './use-entries.ts'

/** All fields of an entry, with the changes. */
export const EntryDetails = ({ entry }: { readonly entry: Entry }) => (
  <Stack>
    <Facts>
      <Fact name={text.audit.at}>
        <Timestamp at={entry.timestamp} format="seconds" />
      </Fact>
      <Fact name={text.audit.actor}>
        <Actor entry={entry} />
      </Fact>
      <Fact name={text.audit.action}>{entry.action}</Fact>
      <Fact name={text.audit.on}>
        <Subject entry={entry} />
      </Fact>
      <Fact name={text.audit.outcome}>
        <Outcome entry={entry} />
      </Fact>
      <Fact name={text.audit.reason}>{entry.reason}</Fact>
      <Fact name={text.audit.method}>{entry.auth_method}</Fact>
      <Fact name={text.audit.from}>{entry.remote_addr}</Fact>
      <Fact name={text.audit.path}>{`${entry.method} ${entry.path}`.trim() || null}</Fact>
      <Fact name={text.audit.count}>{count(entry.count)}</Fact>
      <Fact name={text.audit.request}>
        <PageLink to={`/audit?request_id=${entry.request_id}`} title={text.audit.same} size="md">
          {entry.request_id}
        </PageLink>
      </Fact>
    </Facts>
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
