// Updates the members of group rules when clients change, and retries members that a client could not have.
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'

interface Services extends Pick<Kernel, 'log'> {
  readonly rules: Pick<Rules, 'syncMembers'>
}

type SyncScope = NonNullable<Parameters<Rules['syncMembers']>[0]>

export interface Membership {
  /** The client is new, or its labels have changed. */
  changed(clientId: string): void
  /** An obstacle may be gone: the client has connected, or one of its ports is free. */
  freed(clientId: string): void
  /** The client has lost its member of the rule, for example with a grant. */
  lost(clientId: string, rule: string): void
  /** Retries all members that clients could not have. */
  retry(): Promise<void>
}

export function openMembership({ log, rules }: Services): Membership {
  /** Pending changes. Those that arrive together are handled together. */
  const waiting = { changed: new Set<string>(), freed: new Set<string>(), lost: new Map<string, string>() }
  let isRunning = false

  function next(): SyncScope | null {
    const { changed, freed, lost } = waiting
    const take = <T>(from: { keys(): Iterable<T>; clear(): void }): T[] => {
      const all = [...from.keys()]
      from.clear()
      return all
    }
    if (changed.size > 0) return { clients: take(changed) }
    if (lost.size > 0) return { rules: [...new Set(lost.values())], clients: take(lost) }
    if (freed.size > 0) return { clients: take(freed), onlyRefused: true }
    return null
  }

  /** Runs one sync at a time. The store finishes the caller's open transaction first. */
  async function run(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let scope = next(); scope; scope = next())
      await rules.syncMembers(scope).catch((error: unknown) => {
        log.error('groups.not_settled', `the members of group rules are not up to date: ${String(error)}`, {
          clients: scope.clients?.length
        })
      })
    isRunning = false
  }

  const enqueue = (add: () => unknown): void => {
    add()
    void run()
  }

  return {
    changed: clientId => enqueue(() => waiting.changed.add(clientId)),
    freed: clientId => enqueue(() => waiting.freed.add(clientId)),
    lost: (clientId, rule) => enqueue(() => waiting.lost.set(clientId, rule)),
    retry: () =>
      rules.syncMembers({ onlyRefused: true }).catch((error: unknown) => {
        log.error('groups.not_settled', `refused members of group rules are not retried: ${String(error)}`)
      })
  }
}
