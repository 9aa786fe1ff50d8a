// Counts changes, so that pages know when to reload their lists. A page polls the number each second and reloads if it differs.
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openSharedChangeCounter } from './shared-change-counter.ts'

const settleMs = 200 // changes are marked inside their transaction: wait for its commit
const maxUsers = 1_000

/** Users who may see the change. Superadmins see every change. */
type Audience = { readonly user: string } | 'everybody' | 'superadmins'

export interface ChangeCounter {
  /** Counts a change for its audience, after a short delay. Changes within the delay count as one. */
  mark(audience: Audience): void
  /** Returns a number that differs after each change the caller may see. */
  numberFor(caller: Pick<Principal, 'userId' | 'role'>): Promise<number>
}

type Services = Pick<Kernel, 'store' | 'clock' | 'log'>

/** `isShared`: several servers use the store, so a page may ask another server than the one that changed something. */
export function openChangeCounter(services: Services, isShared: () => boolean): ChangeCounter {
  const { clock } = services
  const shared = openSharedChangeCounter(services)
  let last = clock.now() // differs from the numbers before a restart
  let lastForEverybody = last
  const lastByUser = new Map<string, number>() // least recently polled first
  const changedUsers = new Set<string>()
  let isForEverybody = false
  let isSettling = false

  function settle(): void {
    isSettling = false
    if (isShared()) void shared.publish(isForEverybody ? 'everybody' : [...changedUsers])
    last++
    if (isForEverybody) lastForEverybody = last
    for (const user of changedUsers) if (lastByUser.has(user)) lastByUser.set(user, last)
    isForEverybody = false
    changedUsers.clear()
  }

  return {
    mark(audience) {
      if (audience === 'everybody') isForEverybody = true
      else if (audience !== 'superadmins' && (isShared() || lastByUser.has(audience.user)))
        changedUsers.add(audience.user)
      if (isSettling) return
      isSettling = true
      clock.after(settleMs, settle)
    },

    async numberFor({ userId, role }) {
      if (isShared()) return shared.numberFor({ userId, role })
      if (role === 'superadmin') return last
      const own = lastByUser.get(userId) ?? last
      lastByUser.delete(userId)
      lastByUser.set(userId, own)
      const [leastRecent] = lastByUser.keys()
      if (lastByUser.size > maxUsers && leastRecent !== undefined) lastByUser.delete(leastRecent) // costs one more reload
      return Math.max(lastForEverybody, own)
    }
  }
}
