// Open connections and flows from each agent's last report. Kept in memory only.

import type { ActivePort } from '../../agent/wire/journal-report.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Report } from './report-validation.ts'
import { openUnendedReports } from './unended-reports.ts'

const offlineMs = 30_000

/** Connections by rule and port. */
type Ports = Map<string, Map<number, number>>

interface RuleConnections {
  readonly clientId: string
  readonly ruleId: string
  readonly connections: number
}

export interface ActiveConnections {
  /** Takes a part of a report. `active` must have only rules and ports of the client: they bound the memory used. */
  report(report: Pick<Report, 'clientId' | 'part' | 'last'>, active: readonly ActivePort[]): void
  joined(clientId: string): void
  /** A client that reconnects within 30 s keeps its connections. */
  left(clientId: string): void
  /** Returns the open connections of a rule by port. Ports without connections may be missing. */
  ofRule(clientId: string, ruleId: string): ReadonlyMap<number, number>
  /** Returns the open connections of each rule, of clients at peer servers too. */
  all(): readonly RuleConnections[]
  readonly release: Release
}

export function openActiveConnections({
  clock,
  control,
  log
}: Pick<Kernel, 'clock' | 'control' | 'log'>): ActiveConnections {
  const unended = openUnendedReports({ clock, log })
  const reported = new Map<string, Ports>() // by client
  const partial = new Map<string, Ports>() // by client; from reports that are still incomplete
  const removals = new Map<string, Release>() // timers of offline clients
  const { elsewhere, changed } = openElsewhere(control, reported)

  function report(
    { clientId, part, last }: Pick<Report, 'clientId' | 'part' | 'last'>,
    active: readonly ActivePort[]
  ): void {
    if (control.peers.find(clientId)?.isElsewhere !== false) return
    unended.part({ clientId, last })
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

  function left(clientId: string): void {
    partial.delete(clientId)
    unended.forget(clientId)
    cancelRemoval(clientId)
    const peer = control.peers.find(clientId)
    if (peer?.isElsewhere) reported.delete(clientId)
    if (peer) return
    const cancel = clock.after(offlineMs, () => {
      removals.delete(clientId)
      reported.delete(clientId)
    })
    removals.set(clientId, cancel)
  }

  const ofRule = (clientId: string, id: string): ReadonlyMap<number, number> =>
    (reported.get(clientId) ?? elsewhere.get(clientId))?.get(id) ?? new Map()

  const all = (): readonly RuleConnections[] =>
    [...new Map([...elsewhere, ...reported])].flatMap(([clientId, rules]) =>
      [...rules].map(([ruleId, ports]) => ({ clientId, ruleId, connections: sumConnections(ports) }))
    )

  const release: Release = () => {
    for (const cancel of removals.values()) cancel()
  }

  return { report, joined: cancelRemoval, left, ofRule, all, release }
}

/** Mirrors connections between peer servers. Call `changed` when those of a local client have changed. */
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

export const sumConnections = (ports: ReadonlyMap<number, number>): number =>
  [...ports.values()].reduce((sum, connections) => sum + connections, 0)
