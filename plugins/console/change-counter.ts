// When something has changed that a caller may see. A page asks for this number each second, and reads its lists again when
// it differs: so it shows the truth at once, and asks for little else.
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openSharedChanges } from './shared-change-counter.ts'

export type Changes = ReturnType<typeof openChanges>

const settleMs = 200 // many changes are told in their transaction: it has ended when they are shown
const maxUsers = 1_000

/** Whose lists may show it, beside those of superadmins. */
export type Whose = { readonly user: string } | 'everybody' | 'nobody'

type Services = Pick<Kernel, 'store' | 'clock' | 'log'>

export function openChanges(services: Services, isShared: () => boolean) {
  const { clock } = services
  const shared = openSharedChanges(services)
  let last = clock.now() // not the numbers of the run before
  let lastOfAll = last
  const lastOf = new Map<string, number>() // of users who ask; the one who has not asked for longest is first
  const changed = new Set<string>()
  let isOfAll = false
  let isSettling = false

  function settle(): void {
    isSettling = false
    if (isShared()) void shared.tell(isOfAll ? 'everybody' : [...changed])
    last++
    if (isOfAll) lastOfAll = last
    for (const user of changed) if (lastOf.has(user)) lastOf.set(user, last)
    isOfAll = false
    changed.clear()
  }

  function mark(whose: Whose): void {
    if (whose === 'everybody') isOfAll = true
    else if (whose !== 'nobody' && (isShared() || lastOf.has(whose.user))) changed.add(whose.user)
    if (isSettling) return
    isSettling = true
    clock.after(settleMs, settle)
  }

  /** Returns a number that is another one after each change. Users see those of everybody, and their own. */
  async function seenBy({ userId, role }: Pick<Principal, 'userId' | 'role'>): Promise<number> {
    if (isShared()) return shared.seenBy({ userId, role })
    if (role === 'superadmin') return last
    const own = lastOf.get(userId) ?? last
    lastOf.delete(userId)
    lastOf.set(userId, own)
    const [longestAgo] = lastOf.keys()
    if (lastOf.size > maxUsers && longestAgo !== undefined) lastOf.delete(longestAgo) // it will read its lists once more
    return Math.max(lastOfAll, own)
  }

  return { mark, seenBy }
}
