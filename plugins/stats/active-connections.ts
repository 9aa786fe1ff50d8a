// Connections that live now, as the agents last said; nothing of it is stored.
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Live } from './wire.ts'

interface Said {
  readonly clientId: string
  readonly part: number
  readonly last: boolean
  readonly live: readonly Live[]
}

const awayMs = 30_000

export type ActiveConnections = ReturnType<typeof openActiveConnections>

export function openActiveConnections({ clock, control }: Pick<Kernel, 'clock' | 'control'>) {
  const shown = new Map<string, readonly Live[]>() // by client
  const coming = new Map<string, Live[]>() // of a report whose last part is not there yet
  const leaving = new Map<string, Release>()

  function report({ clientId, part, last, live }: Said): void {
    const all = part === 0 ? [...live] : [...(coming.get(clientId) ?? []), ...live]
    coming.set(clientId, all)
    if (!last) return
    coming.delete(clientId)
    if (control.peers.find(clientId)) shown.set(clientId, all)
  }

  function joined(clientId: string): void {
    leaving.get(clientId)?.()
    leaving.delete(clientId)
  }

  /** A client that is soon back still has its connections. */
  function left(clientId: string): void {
    coming.delete(clientId)
    joined(clientId)
    if (control.peers.find(clientId)) return
    const release = clock.after(awayMs, () => {
      leaving.delete(clientId)
      shown.delete(clientId)
    })
    leaving.set(clientId, release)
  }

  /** Connections (or flows) of a rule by port; only where there are some. */
  const of = (clientId: string, ruleId: string): ReadonlyMap<number, number> =>
    new Map(
      (shown.get(clientId) ?? [])
        .filter(({ rule_id }) => rule_id === ruleId)
        .map(({ port, connections }) => [port, connections])
    )

  /** What lives anywhere, by client. */
  const all = (): readonly (Live & { readonly clientId: string })[] =>
    [...shown].flatMap(([clientId, live]) =>
      live.filter(({ connections }) => connections > 0).map(row => ({ ...row, clientId }))
    )

  const release: Release = () => {
    for (const cancel of leaving.values()) cancel()
  }

  return { report, joined, left, of, all, release }
}
