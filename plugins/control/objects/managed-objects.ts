// The interface of managed objects for plugins: rows in the store, and the wait for an agent's result.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type {
  ManagedObject,
  ManagedObjects,
  ObjectKey,
  ObjectKind
} from '../../../kernel/control/managed-objects.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import { ManagedObjectRow } from '../../../kernel/identity/entities.ts'
import { rowBatches } from '../../../kernel/store/sql/row-batches.ts'
import type { Cluster } from '../../servers/exports.ts'
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
  readonly servers: Pick<Cluster, 'changeNumber' | 'remotePeers' | 'signal' | 'watchResult'>
}

const defaultTimeoutSecs = 5

export function openManagedObjects(services: Services): ManagedObjects {
  const { requestIds, pending, kinds, sessions, servers } = services
  const { changeNumber, remotePeers } = servers

  /** Changes objects of different clients in batches, since a change for all agents has one for each. */
  async function change(
    em: EntityManager,
    objects: readonly ObjectKey[],
    removal: ManagedObject['removal']
  ): Promise<number> {
    const byClient = Map.groupBy(objects, ({ clientId }) => clientId)
    const isSingle = ({ clientId }: ObjectKey): boolean => byClient.get(clientId)?.length === 1
    const others = objects.filter(key => !isSingle(key)).map(key => [key])
    const revisions = new Map<ObjectKey, number>()
    for (const some of [...rowBatches(objects.filter(isSingle), valuesOfRow), ...others]) {
      for (const [key, revision] of await writeRows(em, some, removal, changeNumber)) {
        requestIds.note({ clientId: key.clientId, revision })
        revisions.set(key, revision)
      }
      if (some.length > 1 && revisions.size < objects.length) await setImmediate() // SQLite does not yield to the event loop
    }
    return revisions.get(objects.at(-1) as ObjectKey) ?? 0
  }

  function wake(clientId: string): void {
    if (sessions.find(clientId)) sessions.wake(clientId)
    else servers.signal()
  }

  return {
    put: (em, ...objects) => change(em, objects, null),
    drop: (em, objects, removal) => change(em, [objects].flat(), removal),
    async forget(em, { clientId, kind, id }) {
      await em.nativeDelete(ManagedObjectRow, { clientId, kind, id })
    },
    wake,
    async deliver(object, change, timeoutSecs = defaultTimeoutSecs) {
      const own = sessions.find(object.clientId)
      const peer = own ?? remotePeers.find(object.clientId)
      const capability = kinds().get(object.kind)?.capability
      const isCapable = peer && (!capability || peer.can(capability))
      const result = isCapable ? pending.next(object, change, peer, timeoutSecs) : null
      if (change === 'remove') pending.end(object, 'push', { status: 'removed' })
      if (!own && result) servers.watchResult(object, result)
      wake(object.clientId)
      return result
    },
    refuse: (object, refusal) => pending.end(object, 'push', { status: 'refused', ...refusal })
  }
}

const valuesOfRow = 5

/**
 * Writes rows of objects, at most one per client, and returns their new revisions. The update locks the rows of the
 * clients, so that revisions are committed in ascending order. A cut never becomes a drain.
 */
export async function writeRows(
  em: EntityManager,
  objects: readonly ObjectKey[],
  removal: ManagedObject['removal'],
  changeNumber: string
): Promise<ReadonlyMap<ObjectKey, number>> {
  const rows = await em.execute<{ id: string; revision: number | string }[]>(
    `update kernel_client set revision = revision + 1, changed = ${changeNumber} where id in (${objects.map(() => '?')})
     returning id, revision`,
    objects.map(({ clientId }) => clientId)
  )
  const revisions = new Map(rows.map(({ id, revision }) => [id, Number(revision)]))
  const found = new Map(
    objects.map(key => [key, revisions.get(key.clientId) ?? throwNotEnrolled(key.clientId)])
  )
  await em.execute(
    `insert into kernel_managed_object as present (client_id, kind, id, revision, removal)
     values ${objects.map(() => '(?, ?, ?, ?, ?)')}
     on conflict (client_id, kind, id) do update set revision = excluded.revision, removal =
     case when present.removal = 'cut' and excluded.removal = 'drain' then 'cut' else excluded.removal end`,
    [...found].flatMap(([{ clientId, kind, id }, revision]) => [clientId, kind, id, revision, removal]),
    'run'
  )
  return found
}

function throwNotEnrolled(clientId: string): never {
  throw new TypeError(`client ${clientId} is not enrolled: it can have no objects`)
}
