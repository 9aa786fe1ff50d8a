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
import { openDeliveries } from './deliveries.ts'
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

export function openManagedObjects(services: Services): ManagedObjects {
  const { requestIds, pending, sessions, servers } = services

  /** Changes objects in batches: a change for all agents has one object for each, a report of one agent has many. */
  async function change(
    em: EntityManager,
    objects: readonly ObjectKey[],
    removal: ManagedObject['removal']
  ): Promise<number> {
    const byClient = Map.groupBy(objects, ({ clientId }) => clientId)
    const isSingle = ({ clientId }: ObjectKey): boolean => byClient.get(clientId)?.length === 1
    const others = [...byClient.values()].filter(ofClient => ofClient.length > 1)
    const batches = [objects.filter(isSingle), ...others].flatMap(some => [...rowBatches(some, valuesOfRow)])
    const revisions = new Map<ObjectKey, number>()
    for (const some of batches) {
      for (const [key, revision] of await writeRows(em, some, removal, servers.changeNumber)) {
        requestIds.note({ clientId: key.clientId, revision })
        written({ ...key, revision }, em)
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

  const { written, ...deliveries } = openDeliveries({ ...services, wake })

  return {
    put: (em, ...objects) => change(em, objects, null),
    drop: (em, objects, removal) => change(em, [objects].flat(), removal),
    async forget(em, { clientId, kind, id }) {
      await em.nativeDelete(ManagedObjectRow, { clientId, kind, id })
    },
    wake,
    ...deliveries,
    refuse: (object, refusal) => pending.end(object, 'push', { status: 'refused', ...refusal })
  }
}

const valuesOfRow = 5

/**
 * Writes rows of objects, one of each client or several of one, and returns their new revisions. The update locks the rows
 * of the clients, so that revisions are committed in ascending order. A cut never becomes a drain.
 */
export async function writeRows(
  em: EntityManager,
  objects: readonly ObjectKey[],
  removal: ManagedObject['removal'],
  changeNumber: string
): Promise<ReadonlyMap<ObjectKey, number>> {
  const clientIds = [...new Set(objects.map(({ clientId }) => clientId))]
  const perClient = objects.length / clientIds.length
  const rows = await em.execute<{ id: string; revision: number | string }[]>(
    `update kernel_client set revision = revision + ?, changed = ${changeNumber} where id in (${clientIds.map(() => '?')})
     returning id, revision`,
    [perClient, ...clientIds]
  )
  const next = new Map(rows.map(({ id, revision }) => [id, Number(revision) - perClient + 1]))
  const found = new Map<ObjectKey, number>()
  for (const key of objects) {
    const revision = next.get(key.clientId) ?? throwNotEnrolled(key.clientId)
    next.set(key.clientId, revision + 1)
    found.set(key, revision)
  }
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
