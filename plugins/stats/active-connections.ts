// Open connections and flows, as each agent reported them last. Not stored.

import type { ActivePort } from '../../agent/wire/journal-report.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Report } from './report-validation.ts'

const awayMs = 30_000

/** Connections by rule and port. */
type Ports = Map<string, Map<number, number>>

export type ActiveConnections = ReturnType<typeof openActiveConnections>

export function openActiveConnections({ clock, control }: Pick<Kernel, 'clock' | 'control'>) {
  const reported = new Map<string, Ports>() // by client
  const partial = new Map<string, Ports>() // of reports whose last part is still to come
  const removals = new Map<string, Release>() // timers of clients that left
  const { elsewhere, changed } = openElsewhere(control, reported)

  /** Only rules and ports of the client may be in `active`: they bound what is kept. */
  function report(
    { clientId, part, last }: Pick<Report, 'clientId' | 'part' | 'last'>,
    active: readonly ActivePort[]
  ): void {
    if (control.peers.find(clientId)?.isElsewhere !== false) return
    const ports: Ports = (part === 0 ? undefined : partial.get(clientId)) ?? new Map()
    for (const { ruleId, port, connections } of active)
      ports.set(ruleId, (ports.get(ruleId) ?? new Map<number, number>()).set(port, connections))
    partial.set(clientId, ports)
    if (!last) return
    partial.delete(clientId)
    reported.set(clientId, ports)
    changed(clientId)
  }

  function cancelRemoval(clientId: string): void {
    removals.get(clientId)?.()
    removals.delete(clientId)
  }

  /** A client that reconnects within 30 s still has its connections. */
  function left(clientId: string): void {
    partial.delete(clientId)
    cancelRemoval(clientId)
    const peer = control.peers.find(clientId)
    if (peer?.isElsewhere) reported.delete(clientId)
    if (peer) return
    const cancel = clock.after(awayMs, () => {
      removals.delete(clientId)
      reported.delete(clientId)
    })
    removals.set(clientId, cancel)
  }

  /** Open connections of a rule by port; ports without any may be left out. */
  const ofRule = (clientId: string, id: string): ReadonlyMap<number, number> =>
    (reported.get(clientId) ?? elsewhere.get(clientId))?.get(id) ?? new Map()

  /** Open connections of each rule. */
  const all = (): readonly { clientId: string; ruleId: string; connections: number }[] =>
    [...new Map([...elsewhere, ...reported])].flatMap(([clientId, rules]) =>
      [...rules].map(([ruleId, ports]) => ({ clientId, ruleId, connections: sumOf(ports) }))
    )

  const release: Release = () => {
    for (const cancel of removals.values()) cancel()
  }

  return { report, joined: cancelRemoval, left, ofRule, all, release }
}

/** Connections of clients at other servers, and what is to be called when those of one here have changed. */
function openElsewhere({ servers }: Kernel['control'], reported: ReadonlyMap<string, Ports>) {
  const elsewhere = new Map<string, Ports>() // by client
  const changed = servers.mirror<[string, [number, number][]][]>({
    key: 'stats.active',
    value: clientId => [...(reported.get(clientId) ?? [])].map(([id, ports]) => [id, [...ports]]),
    heard(clientId, rules) {
      if (rules) elsewhere.set(clientId, new Map(rules.map(([id, ports]) => [id, new Map(ports)])))
      else elsewhere.delete(clientId)
    }
  })
  return { elsewhere, changed }
}

export const sumOf = (ports: ReadonlyMap<number, number>): number =>
  [...ports.values()].reduce((sum, connections) => sum + connections, 0)
