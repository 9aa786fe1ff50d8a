// Open connections and flows, as each agent reported them last. Not stored.
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Report } from './ledger.ts'
import { type ActivePort, decodeActive } from './wire.ts'

const awayMs = 30_000

export type ActiveConnections = ReturnType<typeof openActiveConnections>

export function openActiveConnections({ clock, control }: Pick<Kernel, 'clock' | 'control'>) {
  const reported = new Map<string, readonly ActivePort[]>() // by client
  const partial = new Map<string, ActivePort[]>() // of reports whose last part is still to come
  const removals = new Map<string, Release>() // timers of clients that left

  function report({ clientId, part, last, live }: Pick<Report, 'clientId' | 'part' | 'last' | 'live'>): void {
    const before = part === 0 ? [] : (partial.get(clientId) ?? [])
    const all = [...before, ...live.map(decodeActive)]
    partial.set(clientId, all)
    if (!last) return
    partial.delete(clientId)
    if (control.peers.find(clientId)) reported.set(clientId, all)
  }

  function cancelRemoval(clientId: string): void {
    removals.get(clientId)?.()
    removals.delete(clientId)
  }

  /** A client that reconnects within 30 s still has its connections. */
  function left(clientId: string): void {
    partial.delete(clientId)
    cancelRemoval(clientId)
    if (control.peers.find(clientId)) return
    const cancel = clock.after(awayMs, () => {
      removals.delete(clientId)
      reported.delete(clientId)
    })
    removals.set(clientId, cancel)
  }

  /** Open connections of a rule by port; ports without any are left out. */
  const ofRule = (clientId: string, id: string): ReadonlyMap<number, number> =>
    new Map(
      (reported.get(clientId) ?? [])
        .filter(({ ruleId }) => ruleId === id)
        .map(({ port, connections }) => [port, connections])
    )

  const all = (): readonly (ActivePort & { readonly clientId: string })[] =>
    [...reported].flatMap(([clientId, ports]) =>
      ports.filter(({ connections }) => connections > 0).map(port => ({ ...port, clientId }))
    )

  const release: Release = () => {
    for (const cancel of removals.values()) cancel()
  }

  return { report, joined: cancelRemoval, left, ofRule, all, release }
}
