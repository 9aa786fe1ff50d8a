// The managed objects as plugins see them: their rows in the store, and the wait for an agent's result.
import type { EntityManager } from '@mikro-orm/sql'
import type {
  ManagedObject,
  ManagedObjects,
  ObjectKey,
  ObjectKind
} from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { PendingResults } from './pending-results.ts'
import type { RequestIds } from './request-ids.ts'

interface Services {
  readonly requestIds: RequestIds
  readonly pending: PendingResults
  readonly kinds: () => ReadonlyMap<string, ObjectKind>
  readonly sessions: {
    find(clientId: string): Peer | undefined
    wake(clientId: string): void
  }
}

const defaultTimeoutSecs = 5

export function openManagedObjects({ requestIds, pending, kinds, sessions }: Services): ManagedObjects {
  async function change(em: EntityManager, object: ObjectKey, removal: ManagedObject['removal']) {
    const revision = await writeRow(em, object, removal)
    requestIds.note({ clientId: object.clientId, revision })
    return revision
  }

  return {
    put: (em, object) => change(em, object, null),
    drop: change,
    async forget(em, { clientId, kind, id }) {
      await em.nativeDelete(ManagedObjectRow, { clientId, kind, id })
    },
    wake: clientId => sessions.wake(clientId),
    async deliver(object, change, timeoutSecs = defaultTimeoutSecs) {
      const peer = sessions.find(object.clientId)
      const capability = kinds().get(object.kind)?.capability
      const isCapable = peer && (!capability || peer.can(capability))
      const result = isCapable ? pending.next(object, change, peer, timeoutSecs) : null
      if (change === 'remove') pending.end(object, 'push', { status: 'removed' })
      sessions.wake(object.clientId)
      return result
    },
    refuse: (object, refusal) => pending.end(object, 'push', { status: 'refused', ...refusal })
  }
}

/** Writes the row of an object with a new revision, which is returned. A cut never becomes a drain. */
export async function writeRow(
  em: EntityManager,
  { clientId, kind, id }: ObjectKey,
  removal: ManagedObject['removal']
): Promise<number> {
  const revision = await nextRevision(em, clientId)
  await em.execute(
    `insert into kernel_held (client_id, kind, id, revision, removal) values (?, ?, ?, ?, ?)
     on conflict (client_id, kind, id) do update set revision = excluded.revision, removal =
     case when kernel_held.removal = 'cut' and excluded.removal = 'drain' then 'cut' else excluded.removal end`,
    [clientId, kind, id, revision, removal]
  )
  return revision
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
