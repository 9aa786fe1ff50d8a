// Open connections and flows, as each agent reported them last. Not stored.
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Report } from './judgement.ts'
import type { ActivePort } from './wire.ts'

const awayMs = 30_000

/** Connections by rule and port. */
type Ports = Map<string, Map<number, number>>

export type ActiveConnections = ReturnType<typeof openActiveConnections>

export function openActiveConnections({ clock, control }: Pick<Kernel, 'clock' | 'control'>) {
  const reported = new Map<string, Ports>() // by client
  const partial = new Map<string, Ports>() // of reports whose last part is still to come
  const removals = new Map<string, Release>() // timers of clients that left

  /** Only rules and ports of the client may be in `active`: they bound what is kept. */
  function report(
    { clientId, part, last }: Pick<Report, 'clientId' | 'part' | 'last'>,
    active: readonly ActivePort[]
  ): void {
    if (!control.peers.find(clientId)) return
    const ports: Ports = (part === 0 ? undefined : partial.get(clientId)) ?? new Map()
    for (const { ruleId, port, connections } of active)
      ports.set(ruleId, (ports.get(ruleId) ?? new Map<number, number>()).set(port, connections))
    partial.set(clientId, ports)
    if (!last) return
    partial.delete(clientId)
    reported.set(clientId, ports)
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

  /** Open connections of a rule by port; ports without any may be left out. */
  const ofRule = (clientId: string, id: string): ReadonlyMap<number, number> =>
    reported.get(clientId)?.get(id) ?? new Map()

  /** Open connections of each rule. */
  const all = (): readonly { clientId: string; ruleId: string; connections: number }[] =>
    [...reported].flatMap(([clientId, rules]) =>
      [...rules].map(([ruleId, ports]) => ({ clientId, ruleId, connections: sumOf(ports) }))
    )

  const release: Release = () => {
    for (const cancel of removals.values()) cancel()
  }

  return { report, joined: cancelRemoval, left, ofRule, all, release }
}

export const sumOf = (ports: ReadonlyMap<number, number>): number =>
  [...ports.values()].reduce((sum, connections) => sum + connections, 0)
