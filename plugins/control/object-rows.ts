// The rows of managed objects in the store, and the revision that each change takes.
import type { EntityManager } from '@mikro-orm/sql'
import type { ManagedObject, ManagedObjects, ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { RequestIds } from './request-ids.ts'

export type ObjectRows = Pick<ManagedObjects, 'put' | 'drop' | 'forget'>

export function openObjectRows(requestIds: Pick<RequestIds, 'note'>): ObjectRows {
  async function write(
    em: EntityManager,
    { clientId, kind, id }: ObjectKey,
    removal: ManagedObject['removal']
  ) {
    const revision = await nextRevision(em, clientId)
    await em.execute(
      `insert into kernel_held (client_id, kind, id, revision, removal) values (?, ?, ?, ?, ?)
       on conflict (client_id, kind, id) do update set revision = excluded.revision, removal =
       case when kernel_held.removal = 'cut' and excluded.removal = 'drain' then 'cut' else excluded.removal end`,
      [clientId, kind, id, revision, removal]
    )
    requestIds.note({ clientId, revision })
    return revision
  }

  return {
    put: (em, object) => write(em, object, null),
    drop: write,
    async forget(em, { clientId, kind, id }) {
      await em.execute('delete from kernel_held where client_id = ? and kind = ? and id = ?', [
        clientId,
        kind,
        id
      ])
    }
  }
}

/** The update locks the client's row: revisions are committed in the order in which they are taken. */
async function nextRevision(em: EntityManager, clientId: string): Promise<number> {
  const [row] = await em.execute<{ revision: number | string }[]>(
    'update kernel_client set revision = revision + 1 where id = ? returning revision',
    [clientId]
  )
  if (!row) throw new TypeError(`client ${clientId} is not enrolled: it can have no objects`)
  return Number(row.revision)
}
