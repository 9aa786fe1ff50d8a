// Results of agents that another server waits for: kept for a minute by the server that has the session.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../kernel/control/managed-objects.ts'
import { shared } from '../../kernel/store/postgres/words.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { slices } from '../../kernel/store/sql/slices.ts'
import { objectKey } from '../../kernel/wire/control.ts'
import type { ClusterOptions, RecordedResult } from './cluster.ts'

interface Options extends Pick<ClusterOptions, 'local'> {
  readonly signals: Signals
}

interface Watched {
  readonly object: ObjectKey
  revision: number | null // results of an older one are not waited for; null: to be looked up
  waits: number
}

interface Row extends ObjectKey, Pick<ManagedObject, 'revision' | 'removal'> {
  readonly status: ApplyResult['status']
  readonly code: string
  readonly message: string
}

const keptMs = 60_000

export function openPeerResults({ signals, local }: Options) {
  const watched = new Map<string, Watched>()

  /** The looks that follow find the result, also one that is there already. */
  function watch(object: ObjectKey, until: Promise<unknown>): void {
    const key = keyOf(object)
    const one = watched.get(key) ?? { object, revision: null, waits: 0 }
    one.waits += 1
    watched.set(key, one)
    const leave = (): void => {
      one.waits -= 1
      if (one.waits === 0) watched.delete(key)
    }
    until.then(leave, leave)
  }

  async function look(): Promise<void> {
    await lookUpRevisions()
    for (const some of slices([...watched.values()], 3)) {
      const rows = await signals.query<Row>(
        `select client_id as "clientId", kind, id, revision, removal, status, code, message from servers_result
         where ${isOneOf(some)}`,
        some.flatMap(valuesOf)
      )
      for (const { status, code, message, ...row } of rows)
        if (row.revision >= (watched.get(keyOf(row))?.revision ?? Number.MAX_SAFE_INTEGER))
          local.recorded(row, status === 'refused' ? { status, code, message } : { status })
    }
  }

  /** Of what is watched since the last look. When it fails, the next look makes up for it. */
  async function lookUpRevisions(): Promise<void> {
    const since = [...watched.values()].filter(({ revision }) => revision === null)
    for (const some of slices(since, 3)) {
      const rows = await signals.query<ObjectKey & { readonly revision: number }>(
        `select client_id as "clientId", kind, id, revision from kernel_held where ${isOneOf(some)}`,
        some.flatMap(valuesOf)
      )
      const revisions = new Map(rows.map(row => [keyOf(row), row.revision]))
      for (const one of some) one.revision = revisions.get(keyOf(one.object)) ?? 0
    }
  }

  const tidy = (): Promise<unknown> =>
    signals.query(`delete from servers_result where at < ${shared.now} - ${keptMs}`)

  return { keep, watch, look, tidy }
}

async function keep(recorded: readonly RecordedResult[], em: EntityManager): Promise<void> {
  const last = new Map(recorded.map(({ row, result }) => [keyOf(row), { row, result }]))
  for (const some of slices([...last.values()], 8))
    await em.execute(
      `insert into servers_result (client_id, kind, id, revision, removal, status, code, message, at)
       values ${some.map(() => `(?, ?, ?, ?, ?, ?, ?, ?, ${shared.now})`)}
       on conflict (client_id, kind, id) do update set revision = excluded.revision, removal = excluded.removal,
       status = excluded.status, code = excluded.code, message = excluded.message, at = excluded.at`,
      some.flatMap(({ row: { clientId, kind, id, revision, removal }, result }) => [
        ...[clientId, kind, id, revision, removal, result.status],
        ...(result.status === 'refused' ? [result.code, result.message] : ['', ''])
      ]),
      'run'
    )
}

const isOneOf = (some: readonly Watched[]): string =>
  `(client_id, kind, id) in (values ${some.map(() => '(?, ?, ?)').join(', ')})`

const valuesOf = ({ object: { clientId, kind, id } }: Watched): string[] => [clientId, kind, id]

const keyOf = (object: ObjectKey): string => `${object.clientId} ${objectKey(object)}`
