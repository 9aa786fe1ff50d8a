// The kinds `edge_away` and `edge_back`: compares the clients of the store with those that are connected.
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer, Peers } from '../../../kernel/control/peers.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { NotifyObject } from '../entities.ts'
import { countOf, type OwnKind } from '../kind-registry.ts'
import { fine, type Objects, type Wait } from '../objects.ts'
import type { config } from '../settings.ts'

export const edgeKinds: readonly OwnKind[] = [
  {
    kind: 'edge_away',
    isUrgent: true,
    summarize: count => countOf(count, 'client is away', 'clients are away')
  },
  { kind: 'edge_back', summarize: count => countOf(count, 'client is back', 'clients are back') }
]

const subject = 'edge'
const away = 'away'
const reconnectMs = 60_000 // agents need this time to return to a server that has started
const changesPerRound = 500

/** Holds a row while the server has not run long enough to know whether the client is away. */
export interface Edges extends Wait {
  /** Notes which clients are away or back, and forgets those that were revoked or deleted. Call it on one server. */
  look(): Promise<void>
  /** Called when the agent of a client has connected to this server. */
  joined(peer: Pick<Peer, 'clientId'>): void
}

export interface EdgeDeps extends Pick<Kernel<typeof config>, 'config' | 'clock' | 'store'> {
  readonly control: { readonly peers: Pick<Peers, 'all'> }
  readonly objects: Objects
}

interface Row {
  readonly id: string
  readonly name: string
  readonly connectedAt: number | string
}

interface Change extends Row {
  readonly isConnected: boolean
}

export function openEdges({ config, clock, store, control, objects }: EdgeDeps): Edges {
  const openedAt = clock.monotonic()
  const seen = new Set<string>() // clients that were connected since the start; empty once all had time to return

  const areReturning = (): boolean => clock.monotonic() - openedAt < reconnectMs
  const isUnknown = (id: string): boolean => areReturning() && !seen.has(id)

  function joined({ clientId }: Pick<Peer, 'clientId'>): void {
    if (areReturning()) seen.add(clientId)
    else seen.clear()
  }

  async function observe({ id, name, isConnected }: Change, em: EntityManager): Promise<void> {
    const about = { subject, object: id, name, owner: null }
    if (isConnected) await objects.observe({ ...about, state: fine, kind: 'edge_back' }, em)
    else {
      const graceMs = config.grace_secs * 1000
      await objects.observe({ ...about, state: away, kind: 'edge_away', graceMs }, em)
    }
  }

  async function look(): Promise<void> {
    const peers = control.peers.all()
    for (const peer of peers) joined(peer)
    const connected = new Set(peers.map(({ clientId }) => clientId))
    const { changes, gone } = await store.read(async em => {
      const rows = await em.find(NotifyObject, { subject }, { fields: ['object', 'state', 'since'] })
      const known = new Map(rows.map(row => [row.object, row]))
      const clients = await clientsIn(em)
      const ids = new Set(clients.map(({ id }) => id))
      const gone = rows.filter(row => !ids.has(row.object))
      return { changes: changesOf(clients, { connected, known, now: clock.now() }), gone }
    })
    for (let at = 0; at < gone.length; at += changesPerRound)
      await store.change(async em => {
        for (const { object } of gone.slice(at, at + changesPerRound))
          await objects.forget(subject, object, em)
      })
    const certain = changes.filter(({ id, isConnected }) => isConnected || !isUnknown(id))
    for (let at = 0; at < certain.length; at += changesPerRound)
      await store.change(async em => {
        for (const change of certain.slice(at, at + changesPerRound)) await observe(change, em)
      })
  }

  const isAway = (row: NotifyObject): boolean => row.subject === subject && row.state === away

  return {
    look,
    joined,
    isHeld: row => isAway(row) && isUnknown(row.object),
    graceMs: row => (isAway(row) ? config.grace_secs * 1000 : 0)
  }
}

/** Clients that may connect, and have connected. */
const clientsIn = (em: EntityManager): Promise<Row[]> =>
  em.execute<Row[]>(
    `select id, name, connected_at as "connectedAt" from kernel_client
     where connected_at is not null and revoked_at is null`
  )

interface Known {
  readonly connected: ReadonlySet<string>
  readonly known: ReadonlyMap<string, Pick<NotifyObject, 'state' | 'since'>>
  readonly now: number
}

/** Returns the clients that have left or returned; one that did both since the last look has returned first. */
function changesOf(clients: readonly Row[], { connected, known, now }: Known): Change[] {
  return clients.flatMap(client => {
    const row = known.get(client.id)
    const wasAway = row?.state === away
    const isConnected = connected.has(client.id)
    if (isConnected) return wasAway ? [{ ...client, isConnected }] : []
    if (!wasAway) return [{ ...client, isConnected }]
    const connectedAt = Number(client.connectedAt)
    const hasReturned = connectedAt > row.since && connectedAt <= now // later: the clock was set back
    return hasReturned
      ? [
          { ...client, isConnected: true },
          { ...client, isConnected }
        ]
      : []
  })
}
