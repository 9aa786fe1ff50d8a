// Counts changes, so that pages know when to reload their lists. A page polls the number each second and reloads if it differs.
import { randomInt } from 'node:crypto'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { seesAll } from '../http/exports.ts'
import { type ChangedClients, openChangedClients } from './changed-clients.ts'
import { openSharedChangeCounter } from './shared-change-counter.ts'
import type { ShownClients } from './shown-clients.ts'

const settleMs = 200 // changes are marked inside their transaction: wait for its commit
const maxUsers = 1_000

/** Users who may see the change: one user, or those who may see a client. Overseers (`seesAll`) see every change. */
type Audience = { readonly user: string } | { readonly client: string } | 'overseers'

export interface ChangeCounter {
  /** Counts a change for its audience, after a short delay. Changes within the delay count as one. */
  mark(audience: Audience): void
  /** Returns a number that differs after each change the caller may see, and not after others. */
  numberFor(caller: Pick<Principal, 'userId' | 'role'>): Promise<number>
}

/** A user who polls. */
interface Viewer {
  number: number
  clientsSeen: number // the last change of a client that `number` counts, if the user may see it
}

export interface Services extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly shownClients: ShownClients
}

/** `isShared`: several servers use the store, so a page may ask another server than the one that changed something. */
export function openChangeCounter(services: Services, isShared: () => boolean): ChangeCounter {
  const { clock } = services
  const shared = openSharedChangeCounter(services)
  const clients = openChangedClients()
  const viewers = openViewers(services, clients)
  const changedUsers = new Set<string>()
  const changedClients = new Set<string>()
  let last = newNumber()
  let isSettling = false

  function settle(): void {
    isSettling = false
    last++
    if (isShared()) void shared.publish({ users: [...changedUsers], clients: [...changedClients] })
    viewers.count(changedUsers)
    clients.count(changedClients)
    changedUsers.clear()
    changedClients.clear()
  }

  return {
    mark(audience) {
      if (audience !== 'overseers') {
        if ('client' in audience) changedClients.add(audience.client)
        else if (isShared() || viewers.has(audience.user)) changedUsers.add(audience.user)
      }
      if (isSettling) return
      isSettling = true
      clock.after(settleMs, settle)
    },

    async numberFor(caller) {
      if (isShared()) return shared.numberFor(caller)
      return seesAll(caller) ? last : viewers.numberFor(caller.userId)
    }
  }
}

/** Differs from the numbers before a restart and before an eviction, and says nothing about the changes of others. */
const newNumber = (): number => randomInt(2 ** 47)

/** Returns the numbers of the users who poll, without overseers. */
function openViewers(
  { store, shownClients }: Pick<Services, 'store' | 'shownClients'>,
  clients: ChangedClients
) {
  const viewers = new Map<string, Viewer>() // least recently polled first

  function touch(userId: string): Viewer {
    const viewer = viewers.get(userId) ?? { number: newNumber(), clientsSeen: clients.last() }
    viewers.delete(userId)
    viewers.set(userId, viewer)
    const [leastRecent] = viewers.keys()
    if (viewers.size > maxUsers && leastRecent !== undefined) viewers.delete(leastRecent) // costs one more reload
    return viewer
  }

  return {
    has: (userId: string): boolean => viewers.has(userId),

    count(users: ReadonlySet<string>): void {
      for (const userId of users) {
        const viewer = viewers.get(userId)
        if (viewer) viewer.number++
      }
    },

    /** Reads the clients of the user only after a change of some client. */
    async numberFor(userId: string): Promise<number> {
      const viewer = touch(userId)
      if (viewer.clientsSeen === clients.last()) return viewer.number
      const shown = await store.read(em => shownClients(userId, em))
      if (clients.haveChanged(shown, viewer.clientsSeen)) viewer.number++
      viewer.clientsSeen = clients.last()
      return viewer.number
    }
  }
}
