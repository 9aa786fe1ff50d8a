// Results of agents that a peer waits for. The server with the session stores them for a minute.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../kernel/control/managed-objects.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { objectKey } from '../../kernel/wire/control.ts'
import type { ClusterOptions, ExpectedResult, RecordedResult } from './cluster.ts'

interface Options extends Pick<ClusterOptions, 'local'> {
  readonly signals: Signals
}

interface Row extends ObjectKey, Pick<ManagedObject, 'revision' | 'removal'> {
  readonly status: ApplyResult['status']
  readonly code: string
  readonly message: string
}

const retentionMs = 60_000

export interface PeerResults {
  /** Polls for results of the object, also for stored ones, until the change is settled. */
  watch(expected: ExpectedResult): void
  /** Reports stored results of watched objects. */
  poll(): Promise<void>
  /** Stores results of this server for peers. */
  store(recorded: readonly RecordedResult[], em: EntityManager): Promise<void>
  /** Deletes old results. */
  tidy(): Promise<unknown>
}

export function openPeerResults({ signals, local }: Options): PeerResults {
  const watched = new Set<ExpectedResult>()

  function watch(expected: ExpectedResult): void {
    watched.add(expected)
    const leave = (): boolean => watched.delete(expected)
    expected.result.then(leave, leave)
  }

  /** Reports results in the order of their revisions: the first one settles a change. */
  async function poll(): Promise<void> {
    const objects = new Map([...watched].map(({ object }) => [keyOf(object), object]))
    for (const some of rowBatches([...objects.values()], 3)) {
      const rows = await signals.query<Row>(
        `select client_id as "clientId", kind, id, revision, removal, status, code, message from servers_result
         where (client_id, kind, id) in (values ${some.map(() => '(?, ?, ?)').join(', ')}) order by revision`,
        some.flatMap(({ clientId, kind, id }) => [clientId, kind, id])
      )
      for (const { status, code, message, ...row } of rows)
        local.recorded(row, status === 'refused' ? { status, code, message } : { status })
    }
  }

  const tidy = (): Promise<unknown> =>
    signals.query(`delete from servers_result where at < ${shared.now} - ${retentionMs}`)

  return { watch, poll, store, tidy }
}

async function store(recorded: readonly RecordedResult[], em: EntityManager): Promise<void> {
  const last = new Map(recorded.map(({ row, result }) => [`${row.revision} ${keyOf(row)}`, { row, result }]))
  for (const some of rowBatches([...last.values()], 8))
    await em.execute(
      `insert into servers_result (client_id, kind, id, revision, removal, status, code, message, at)
       values ${some.map(() => `(?, ?, ?, ?, ?, ?, ?, ?, ${shared.now})`)}
       on conflict (client_id, kind, id, revision) do update set removal = excluded.removal,
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

const keyOf = (object: ObjectKey): string => `${object.clientId} ${objectKey(object)}`
