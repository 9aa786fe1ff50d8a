// The managed objects as plugins see them: their rows in the store, and the wait for an agent's result.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type {
  ManagedObject,
  ManagedObjects,
  ObjectKey,
  ObjectKind
} from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import { slices } from '../../kernel/store/sql/slices.ts'
import type { PendingResults } from './pending-results.ts'
import type { RequestIds } from './request-ids.ts'
import type { OwnServers } from './servers/own-servers.ts'

interface Services {
  readonly requestIds: RequestIds
  readonly pending: PendingResults
  readonly kinds: () => ReadonlyMap<string, ObjectKind>
  readonly sessions: {
    find(clientId: string): Peer | undefined
    wake(clientId: string): void
  }
  readonly servers: Pick<OwnServers, 'changeNumber' | 'elsewhere' | 'changed' | 'watch'>
}

const defaultTimeoutSecs = 5

export function openManagedObjects(services: Services): ManagedObjects {
  const { requestIds, pending, kinds, sessions, servers } = services
  const { changeNumber, elsewhere } = servers

  async function change(em: EntityManager, object: ObjectKey, removal: ManagedObject['removal']) {
    const revision = await writeRow(em, object, removal, changeNumber)
    requestIds.note({ clientId: object.clientId, revision })
    return revision
  }

  /** Objects of different clients are put together: a change for all agents has as many. */
  async function put(em: EntityManager, ...objects: readonly ObjectKey[]): Promise<number> {
    const ofClient = Map.groupBy(objects, ({ clientId }) => clientId)
    const single = objects.length === 1 ? [] : objects.filter(key => ofClient.get(key.clientId)?.length === 1)
    const revisions = new Map<ObjectKey, number>()
    for (const some of slices(single, 4)) {
      for (const [key, revision] of await putTogether(em, some, changeNumber)) {
        requestIds.note({ clientId: key.clientId, revision })
        revisions.set(key, revision)
      }
      if (revisions.size < single.length) await setImmediate() // a transaction of the embedded store does not yield to the event loop
    }
    for (const key of objects) if (!revisions.has(key)) revisions.set(key, await change(em, key, null))
    return revisions.get(objects.at(-1) as ObjectKey) ?? 0
  }

  function wake(clientId: string): void {
    if (sessions.find(clientId)) sessions.wake(clientId)
    else servers.changed()
  }

  return {
    put,
    drop: change,
    async forget(em, { clientId, kind, id }) {
      await em.nativeDelete(ManagedObjectRow, { clientId, kind, id })
    },
    wake,
    async deliver(object, change, timeoutSecs = defaultTimeoutSecs) {
      const own = sessions.find(object.clientId)
      const peer = own ?? elsewhere.find(object.clientId)
      const capability = kinds().get(object.kind)?.capability
      const isCapable = peer && (!capability || peer.can(capability))
      const result = isCapable ? pending.next(object, change, peer, timeoutSecs) : null
      if (change === 'remove') pending.end(object, 'push', { status: 'removed' })
      if (!own && result) servers.watch(object, result)
      wake(object.clientId)
      return result
    },
    refuse: (object, refusal) => pending.end(object, 'push', { status: 'refused', ...refusal })
  }
}

/** Puts objects, no two of one client. Returns their new revisions. */
async function putTogether(
  em: EntityManager,
  objects: readonly ObjectKey[],
  changeNumber: string
): Promise<Map<ObjectKey, number>> {
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
    `insert into kernel_held (client_id, kind, id, revision) values ${objects.map(() => '(?, ?, ?, ?)')}
     on conflict (client_id, kind, id) do update set revision = excluded.revision, removal = null`,
    [...found].flatMap(([{ clientId, kind, id }, revision]) => [clientId, kind, id, revision]),
    'run'
  )
  return found
}

/** Writes the row of an object with a new revision, which is returned. A cut never becomes a drain. */
export async function writeRow(
  em: EntityManager,
  { clientId, kind, id }: ObjectKey,
  removal: ManagedObject['removal'],
  changeNumber: string
): Promise<number> {
  const revision = await nextRevision(em, clientId, changeNumber)
  await em.execute(
    `insert into kernel_held (client_id, kind, id, revision, removal) values (?, ?, ?, ?, ?)
     on conflict (client_id, kind, id) do update set revision = excluded.revision, removal =
     case when kernel_held.removal = 'cut' and excluded.removal = 'drain' then 'cut' else excluded.removal end`,
    [clientId, kind, id, revision, removal]
  )
  return revision
}

/** The update locks the client's row: revisions are committed in the order in which they are taken. */
async function nextRevision(em: EntityManager, clientId: string, changeNumber: string): Promise<number> {
  const [row] = await em.execute<{ revision: number | string }[]>(
    `update kernel_client set revision = revision + 1, changed = ${changeNumber} where id = ? returning revision`,
    [clientId]
  )
  return Number(row?.revision ?? throwNotEnrolled(clientId))
}

function throwNotEnrolled(clientId: string): never {
  throw new TypeError(`client ${clientId} is not enrolled: it can have no objects`)
}
