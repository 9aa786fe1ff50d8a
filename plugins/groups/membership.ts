// Syncs the members of group rules when clients change, and retries refused members.
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'

interface Services extends Pick<Kernel, 'log'> {
  readonly rules: Pick<Rules, 'syncMembers'>
}

type SyncScope = NonNullable<Parameters<Rules['syncMembers']>[0]>

/** Requests that arrive during a sync are batched into the next syncs. */
export interface Membership {
  /** Call this when a client is new or its labels have changed. */
  syncClient(clientId: string): void
  /** Retries the refused members of a client. Call this when it connects or one of its ports becomes free. */
  retryClient(clientId: string): void
  /** Call this when a client loses its member of a group rule, for example with a grant. */
  syncMember(clientId: string, ruleId: string): void
  /** Call this when a user may place rules on other clients than before. */
  syncUser(userId: string, clientId: string | null): void
  /** Retries all refused members. Logs a failure instead of rejecting. */
  retryAll(): Promise<void>
}

interface PendingSyncs {
  readonly clients: Set<string>
  readonly users: Map<string, SyncScope>
  readonly lost: { readonly rules: Set<string>; readonly clients: Set<string> }
  readonly retries: Set<string>
}

/** Removes and returns the next scope to sync, or null. */
function takeNextScope({ clients, users, lost, retries }: PendingSyncs): SyncScope | null {
  const take = (from: Set<string>): string[] => {
    const all = [...from]
    from.clear()
    return all
  }
  if (clients.size > 0) return { clients: take(clients) }
  for (const [key, scope] of users) {
    users.delete(key)
    return scope
  }
  if (lost.rules.size > 0) return { rules: take(lost.rules), clients: take(lost.clients) }
  if (retries.size > 0) return { clients: take(retries), onlyRefused: true }
  return null
}

export function openMembership({ log, rules }: Services): Membership {
  const pending = {
    clients: new Set<string>(),
    users: new Map<string, SyncScope>(),
    lost: { rules: new Set<string>(), clients: new Set<string>() },
    retries: new Set<string>()
  }
  let isRunning = false

  /** Runs the pending syncs one at a time. */
  async function runPending(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let scope = takeNextScope(pending); scope; scope = takeNextScope(pending))
      await rules.syncMembers(scope).catch((error: unknown) => {
        log.error('groups.not_synced', `could not sync the members of group rules: ${String(error)}`, {
          clients: scope.clients?.length
        })
      })
    isRunning = false
  }

  const enqueue = (add: () => unknown): void => {
    add()
    void runPending()
  }

  return {
    syncClient: clientId => enqueue(() => pending.clients.add(clientId)),
    retryClient: clientId => enqueue(() => pending.retries.add(clientId)),
    syncMember: (clientId, ruleId) =>
      enqueue(() => {
        pending.lost.clients.add(clientId)
        pending.lost.rules.add(ruleId)
      }),
    syncUser: (userId, clientId) =>
      enqueue(() =>
        pending.users.set(`${userId} ${clientId}`, {
          users: [userId],
          ...(clientId !== null && { clients: [clientId] })
        })
      ),
    retryAll: () =>
      rules.syncMembers({ onlyRefused: true }).catch((error: unknown) => {
        log.error('groups.not_synced', `could not retry refused members of group rules: ${String(error)}`)
      })
  }
}
