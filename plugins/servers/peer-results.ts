// Results of agents that a peer waits for. The server with the session stores them for a minute.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../kernel/control/managed-objects.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { objectKey } from '../../kernel/wire/control.ts'
import type { ClusterOptions, RecordedResult } from './cluster.ts'

interface Options extends Pick<ClusterOptions, 'local'> {
  readonly signals: Signals
}

interface Watched {
  readonly object: ObjectKey
  revision: number | null // older results do not count; null: not read yet
  waits: number
}

interface Row extends ObjectKey, Pick<ManagedObject, 'revision' | 'removal'> {
  readonly status: ApplyResult['status']
  readonly code: string
  readonly message: string
}

const retentionMs = 60_000

export interface PeerResults {
  /** Polls for the result of the object, also for one that is stored already, until the promise is settled. */
  watch(object: ObjectKey, until: Promise<unknown>): void
  /** Reports stored results of watched objects. */
  poll(): Promise<void>
  /** Stores results of this server for peers. */
  store(recorded: readonly RecordedResult[], em: EntityManager): Promise<void>
  /** Deletes old results. */
  tidy(): Promise<unknown>
}

export function openPeerResults({ signals, local }: Options): PeerResults {
  const watched = new Map<string, Watched>()

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

  async function poll(): Promise<void> {
    await readRevisions()
    for (const some of rowBatches([...watched.values()], 3)) {
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

  /** Reads the revisions of objects that are watched since the last poll. After an error the next poll reads them. */
  async function readRevisions(): Promise<void> {
    const since = [...watched.values()].filter(({ revision }) => revision === null)
    for (const some of rowBatches(since, 3)) {
      const rows = await signals.query<ObjectKey & { readonly revision: number }>(
        `select client_id as "clientId", kind, id, revision from kernel_managed_object where ${isOneOf(some)}`,
        some.flatMap(valuesOf)
      )
      const revisions = new Map(rows.map(row => [keyOf(row), row.revision]))
      for (const one of some) one.revision = revisions.get(keyOf(one.object)) ?? 0
    }
  }

  const tidy = (): Promise<unknown> =>
    signals.query(`delete from servers_result where at < ${shared.now} - ${retentionMs}`)

  return { watch, poll, store, tidy }
}

async function store(recorded: readonly RecordedResult[], em: EntityManager): Promise<void> {
  const last = new Map(recorded.map(({ row, result }) => [keyOf(row), { row, result }]))
  for (const some of rowBatches([...last.values()], 8))
    await em.execute(
      `insert into servers_result (client_id, kind, id, revision, removal, status, code, message, at)
       values ${some.map(() => `(?, ?, ?, ?, ?, ?, ?, ?, ${shared.now})`)}
       on conflict (client_id, kind, id) do update set revision = excluded.revision, removal = excluded.removal,
       status = excluded.status, code = excluded.code, message = excluded.message, at = excluded.at`,
      some.flatMap(({ row: { clientId, kind, id, revision, removal }, result }) => [
        clientId,
        kind,
        id,
        revision,
        removal,
        result.status,
        result.status === 'refused' ? result.code : '',
        result.status === 'refused' ? result.message : ''
      ]),
      'run'
    )
}

const isOneOf = (some: readonly Watched[]): string =>
  `(client_id, kind, id) in (values ${some.map(() => '(?, ?, ?)').join(', ')})`

const valuesOf = ({ object: { clientId, kind, id } }: Watched): string[] => [clientId, kind, id]

const keyOf = (object: ObjectKey): string => `${object.clientId} ${objectKey(object)}`
