// Deliveries: plugins wait for the results of the revisions that their changes have written.
import type { EntityManager } from '@mikro-orm/sql'
import type {
  Delivery,
  ManagedObjects,
  ObjectKey,
  ObjectKind,
  ObjectRevision
} from '../../../kernel/control/managed-objects.ts'
import type { Peers } from '../../../kernel/control/peers.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { Cluster } from '../../servers/exports.ts'
import { objectKeyText, readRevisions } from './object-revisions.ts'
import type { Change, Expected, PendingResults } from './pending-results.ts'

const defaultTimeoutSecs = 5

interface Services {
  readonly pending: PendingResults
  readonly kinds: () => ReadonlyMap<string, ObjectKind>
  readonly sessions: Pick<Peers, 'find'>
  readonly servers: Pick<Cluster, 'remotePeers' | 'watchResult'>
  readonly wake: ManagedObjects['wake']
}

interface Deliveries extends Pick<ManagedObjects, 'deliver' | 'deliverAll'> {
  /** Call it in the change that has written the revision: its deliveries then need no read. */
  written(object: ObjectRevision, em: EntityManager): void
}

export function openDeliveries({ pending, kinds, sessions, servers, wake }: Services): Deliveries {
  const revisionsIn = new WeakMap<object, Map<string, number>>() // by open transaction

  const writtenIn = (em: EntityManager): Map<string, number> => {
    const transaction = em.getTransactionContext<object>() ?? em
    const revisions = revisionsIn.get(transaction) ?? new Map<string, number>()
    revisionsIn.set(transaction, revisions)
    return revisions
  }

  /** Returns null if no capable agent is connected. */
  function expect(object: ObjectRevision, change: Change): Expected | null {
    const own = sessions.find(object.clientId)
    const peer = own ?? servers.remotePeers.find(object.clientId)
    const capability = kinds().get(object.kind)?.capability
    const isCapable = peer && (!capability || peer.can(capability))
    const expected = isCapable ? pending.expect(object, change, peer) : null
    if (change === 'remove') pending.end(object, 'push', { status: 'removed' })
    if (!own && expected) servers.watchResult(expected)
    return expected
  }

  function openDelivery(object: ObjectRevision, change: Change, em: EntityManager): Delivery {
    let expected: Expected | null = null
    afterCommit(em, () => {
      expected = expect(object, change)
    })
    return {
      async answered(timeoutSecs = defaultTimeoutSecs) {
        expected?.endAfter(timeoutSecs)
        wake(object.clientId)
        return expected?.result ?? null
      }
    }
  }

  async function deliverAll(em: EntityManager, objects: readonly ObjectKey[], change: Change) {
    const written = writtenIn(em)
    const others = objects.filter(key => !written.has(objectKeyText(key)))
    const stored = await readRevisions(others, em)
    return objects.map(key => {
      const text = objectKeyText(key)
      const revision = written.get(text) ?? stored.get(text) ?? throwUnsent(key)
      return openDelivery({ ...key, revision }, change, em)
    })
  }

  return {
    deliverAll,
    async deliver(em, object, change) {
      const [delivery = throwUnsent(object)] = await deliverAll(em, [object], change)
      return delivery
    },
    written: (object, em) => void writtenIn(em).set(objectKeyText(object), object.revision)
  }
}

function throwUnsent({ clientId, kind, id }: ObjectKey): never {
  throw new TypeError(`${kind} ${id} has no revision on client ${clientId}: nothing was sent`)
}
