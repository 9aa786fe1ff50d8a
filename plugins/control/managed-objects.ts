// Rows of what shall live on the agents, and the revision that every change of one takes.
import type { EntityManager } from '@mikro-orm/sql'
import type { ManagedObject, ManagedObjects, ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { RequestIds } from './request-ids.ts'

export function openManagedObjects(
  wake: (clientId: string) => void,
  origins: Pick<RequestIds, 'note'>
): ManagedObjects {
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
    origins.note({ clientId, revision })
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
    },
    wake
  }
}

/** The client's row is locked by it: revisions are committed in the order in which they are taken. */
async function nextRevision(em: EntityManager, clientId: string): Promise<number> {
  const [row] = await em.execute<{ revision: number | string }[]>(
    'update kernel_client set revision = revision + 1 where id = ? returning revision',
    [clientId]
  )
  if (!row) throw new TypeError(`client ${clientId} is not enrolled: it can hold nothing`)
  return Number(row.revision)
}
