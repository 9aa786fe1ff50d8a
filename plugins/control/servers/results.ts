// Results of agents that another server waits for: kept for a minute by the server that has the session.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../../kernel/control/managed-objects.ts'
import { shared } from '../../../kernel/store/postgres/words.ts'
import type { Signals } from '../../../kernel/store/sql/database.ts'
import { slices } from '../../../kernel/store/sql/slices.ts'
import { objectKey } from '../../../kernel/wire/control.ts'
import type { Recorded, ServersOptions } from './own-servers.ts'

interface Options extends Pick<ServersOptions, 'happenings' | 'log'> {
  readonly signals: Signals
}

interface Watched {
  readonly object: ObjectKey
  revision: number // results of an older one are not waited for
  waits: number
}

interface Row extends ObjectKey, Pick<ManagedObject, 'revision' | 'removal'> {
  readonly status: ApplyResult['status']
  readonly code: string
  readonly message: string
}

const keptMs = 60_000

export function openResults({ signals, happenings, log }: Options) {
  const watched = new Map<string, Watched>()

  /** Resolves when a look finds the result, also one that is there already. */
  async function watch(object: ObjectKey, until: Promise<unknown>): Promise<void> {
    const { clientId, kind, id } = object
    const key = keyOf(object)
    const one = watched.get(key) ?? { object, revision: Number.MAX_SAFE_INTEGER, waits: 0 }
    one.waits += 1
    watched.set(key, one)
    const leave = (): void => {
      one.waits -= 1
      if (one.waits === 0) watched.delete(key)
    }
    until.then(leave, leave)
    try {
      const [row] = await signals.query<{ revision: number }>(
        'select revision from kernel_held where client_id = ? and kind = ? and id = ?',
        [clientId, kind, id]
      )
      one.revision = Math.min(one.revision, row?.revision ?? 0)
    } catch (error) {
      log.debug('server.result_not_watched', String(error)) // the caller's time ends
    }
  }

  async function look(): Promise<void> {
    for (const some of slices([...watched.values()], 3)) {
      const rows = await signals.query<Row>(
        `select client_id as "clientId", kind, id, revision, removal, status, code, message from control_result
         where (client_id, kind, id) in (values ${some.map(() => '(?, ?, ?)').join(', ')})`,
        some.flatMap(({ object: { clientId, kind, id } }) => [clientId, kind, id])
      )
      for (const { status, code, message, ...row } of rows)
        if (row.revision >= (watched.get(keyOf(row))?.revision ?? Number.MAX_SAFE_INTEGER))
          happenings.recorded(row, status === 'refused' ? { status, code, message } : { status })
    }
  }

  const tidy = (): Promise<unknown> =>
    signals.query(`delete from control_result where at < ${shared.now} - ${keptMs}`)

  return { keep, watch, look, tidy }
}

async function keep(recorded: readonly Recorded[], em: EntityManager): Promise<void> {
  const last = new Map(recorded.map(({ row, result }) => [keyOf(row), { row, result }]))
  for (const some of slices([...last.values()], 8))
    await em.execute(
      `insert into control_result (client_id, kind, id, revision, removal, status, code, message, at)
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

const keyOf = (object: ObjectKey): string => `${object.clientId} ${objectKey(object)}`
