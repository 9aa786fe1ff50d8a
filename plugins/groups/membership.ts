// Follows which clients are in groups: what changes them is settled at once, and what a client could not have is tried
// again.
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'

interface Services extends Pick<Kernel, 'log'> {
  readonly rules: Pick<Rules, 'syncMembers'>
}

type Settled = NonNullable<Parameters<Rules['syncMembers']>[0]>

export type Membership = ReturnType<typeof openMembership>

export function openMembership({ log, rules }: Services) {
  /** Changes that wait; those that come together are settled together. */
  const waiting = { changed: new Set<string>(), freed: new Set<string>(), lost: new Map<string, string>() }
  let isRunning = false

  function next(): Settled | null {
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

  /** A transaction that is open now ends before the first one here begins. */
  async function run(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let settled = next(); settled; settled = next())
      await rules.syncMembers(settled).catch((error: unknown) => {
        log.error(
          'groups.not_settled',
          `clients of groups could not be brought up to date: ${String(error)}`,
          {
            clients: settled.clients?.length
          }
        )
      })
    isRunning = false
  }

  const reconsider = (note: () => unknown): void => {
    note()
    void run()
  }

  return {
    /** The client is new, or its labels are others. */
    changed: (clientId: string): void => reconsider(() => waiting.changed.add(clientId)),
    /** Something that kept the client from a rule may be gone: it is connected, or a port is free. */
    freed: (clientId: string): void => reconsider(() => waiting.freed.add(clientId)),
    /** The client has lost its part of the rule, for example with a grant. */
    lost: (clientId: string, rule: string): void => reconsider(() => waiting.lost.set(clientId, rule)),
    /** Tries again what clients could not have. */
    retry: (): Promise<void> =>
      rules.syncMembers({ onlyRefused: true }).catch((error: unknown) => {
        log.error(
          'groups.not_settled',
          `refused clients of groups could not be tried again: ${String(error)}`
        )
      })
  }
}
