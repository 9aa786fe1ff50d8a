// The table of entries. Each subject has a bound, so that one flapping rule does not evict the entries of others.
import type { EntityManager } from '@mikro-orm/sql'
import type { JournalEntry } from '../rules/exports.ts'

/** A row of the table. */
export interface Entry {
  readonly id: string
  readonly subject: string
  readonly ts: number
  readonly kind: string
  readonly from: string // JSON
  readonly to: string // JSON
  readonly cause: string | null
  readonly requestId: string | null
  readonly details: string // JSON
}

export const toSubject = (about: JournalEntry['about']): string => {
  if ('rule' in about) return about.rule
  return 'owner' in about ? `${about.clientId} ${about.owner}` : about.clientId
}

const maxChars = 1000 // of a value as JSON

/** Returns the value as JSON. A long value becomes a string with the beginning of its JSON. */
export function boundedJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null'
  return json.length <= maxChars ? json : JSON.stringify(`${json.slice(0, maxChars)}...`)
}

/** Returns the details as JSON. Long details become `{"cut": ...}` with the beginning of their JSON. */
export function boundedDetails(details: Readonly<Record<string, unknown>>): string {
  const json = boundedJson(details)
  return json.startsWith('{') ? json : `{"cut":${json}}`
}

export const columns = 9

/** Returns the subjects of the inserted rows. Skips entries with a stored id. */
export async function insert(entries: readonly Entry[], em: EntityManager): Promise<string[]> {
  const rows = await em.execute<Pick<Entry, 'subject'>[]>(
    `insert into journal_entry (id, subject, ts, kind, from_value, to_value, cause, request_id, details)
     values ${entries.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?)')} on conflict do nothing returning subject`,
    entries.flatMap(({ id, subject, ts, kind, from, to, cause, requestId, details }) => [
      id,
      subject,
      ts,
      kind,
      from,
      to,
      cause,
      requestId,
      details
    ])
  )
  return rows.map(({ subject }) => subject)
}

/** Deletes the oldest entries of each subject beyond `max`. */
export async function trim(subjects: readonly string[], max: number, em: EntityManager): Promise<void> {
  const full = await em.execute<Pick<Entry, 'subject'>[]>(
    `select subject from journal_entry where subject in (${subjects.map(() => '?')})
     group by subject having count(*) > ?`,
    [...subjects, max]
  )
  for (const { subject } of full)
    await em.execute(
      `delete from journal_entry where subject = ? and (ts, id) <=
         (select ts, id from journal_entry where subject = ? order by ts desc, id desc limit 1 offset ?)`,
      [subject, subject, max],
      'run'
    )
}

/** Deletes at most `max` entries before `ts`; returns the number deleted. */
export async function deleteBefore(ts: number, max: number, em: EntityManager): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    'delete from journal_entry where id in (select id from journal_entry where ts < ? order by ts limit ?)',
    [ts, max],
    'run'
  )
  return affectedRows
}

export const deleteSubjects = (subjects: readonly string[], em: EntityManager): Promise<unknown> =>
  em.execute(`delete from journal_entry where subject in (${subjects.map(() => '?')})`, [...subjects], 'run')

/** Times are inclusive. `before` is the last entry of the previous page. */
export interface Selection {
  readonly subjects: readonly string[]
  readonly since: number
  readonly until: number
  readonly kind: string | undefined
  readonly before: Pick<Entry, 'ts' | 'id'> | null
}

/** Returns at most `take` entries, newest first. */
export function select(
  { subjects, since, until, kind, before }: Selection,
  take: number,
  em: EntityManager
): Promise<Entry[]> {
  const conditions = [
    { sql: `subject in (${subjects.map(() => '?')})`, values: [...subjects] },
    { sql: 'ts between ? and ?', values: [since, until] },
    ...(kind === undefined ? [] : [{ sql: 'kind = ?', values: [kind] }]),
    ...(before ? [{ sql: '(ts, id) < (?, ?)', values: [before.ts, before.id] }] : [])
  ]
  return em.execute<Entry[]>(
    `select id, subject, ts, kind, from_value as "from", to_value as "to", cause, request_id as "requestId", details
     from journal_entry where ${conditions.map(({ sql }) => sql).join(' and ')}
     order by ts desc, id desc limit ?`,
    [...conditions.flatMap(({ values }) => values), take]
  )
}
