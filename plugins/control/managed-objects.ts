import type { ManagedObjects, ObjectKind } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { ObjectRows } from './object-rows.ts'
import type { PendingResults } from './pending-results.ts'

interface Services {
  readonly rows: ObjectRows
  readonly pending: PendingResults
  readonly kinds: () => readonly ObjectKind[]
  readonly sessions: {
    find(clientId: string): Peer | undefined
    wake(clientId: string): void
  }
}

const defaultTimeoutSecs = 5

/** The delivery of managed objects as plugins see it. */
export function openManagedObjects({ rows, pending, kinds, sessions }: Services): ManagedObjects {
  /** The connected peer of a client, if it can take objects of the kind. */
  function capablePeer(clientId: string, name: string): Peer | undefined {
    const peer = sessions.find(clientId)
    const capability = kinds().find(({ kind }) => kind === name)?.capability
    return capability && !peer?.can(capability) ? undefined : peer
  }

  return {
    ...rows,
    wake: clientId => sessions.wake(clientId),
    async deliver(object, change, timeoutSecs = defaultTimeoutSecs) {
      const { clientId, kind } = object
      const peer = capablePeer(clientId, kind)
      const result = peer ? pending.next(object, change, peer, timeoutSecs) : null
      if (change === 'remove') pending.end(object, 'push', { status: 'removed' })
      sessions.wake(clientId)
      return result
    },
    refuse: (object, refusal) => pending.end(object, 'push', { status: 'refused', ...refusal })
  }
}
