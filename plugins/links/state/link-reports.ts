// The state of links as agents report it. Each end of a link reports; a report counts while its agent is connected.
import type { Peer } from '../../../kernel/control/peers.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { LinkRow } from '../entities.ts'
import type { LinkStatus } from '../wire.ts'

const staleMs = 60_000 // an agent reports each of its links every 10 s

interface Report {
  readonly status: LinkStatus
  readonly at: number // monotonic, ms
}

type Session = Pick<Peer, 'clientId' | 'sessionId'>
type Reported = ReadonlyMap<string, LinkStatus> // by link id
type Link = Pick<LinkRow, 'id' | 'nearId' | 'farId'>

/** The reports of both ends. */
export interface BothReports {
  readonly near?: LinkStatus | undefined
  readonly far?: LinkStatus | undefined
}

export interface LinkReports {
  /** Stores the states of links of the client; ignores others. Returns the ids of links with a state that may have changed. */
  receive(peer: Session, links: readonly LinkStatus[]): Promise<string[]>
  joined(peer: Session): void
  /** Forgets the reports of the session. Returns the ids of their links. */
  left(peer: Session): string[]
  forget(links: readonly Link[]): void
  /** Returns what both ends report now, at this server or at a peer server. */
  of(link: Link): BothReports
}

export function openLinkReports({
  store,
  clock,
  control
}: Pick<Kernel, 'store' | 'clock' | 'control'>): LinkReports {
  const sessions = new Map<string, { readonly sessionId: string; readonly reports: Map<string, Report> }>() // by client
  const mirrored = new Map<string, Reported>() // by client, of peer servers
  const changed = control.servers.mirror<[string, LinkStatus][]>({
    key: 'links.reports',
    value(clientId) {
      const session = sessions.get(clientId)
      return session && [...session.reports].map(([id, { status }]) => [id, status])
    },
    heard(clientId, reported) {
      if (reported) mirrored.set(clientId, new Map(reported))
      else mirrored.delete(clientId)
    }
  })

  async function receive({ clientId, sessionId }: Session, links: readonly LinkStatus[]): Promise<string[]> {
    const own = { $or: [{ nearId: clientId }, { farId: clientId }] }
    const where = { $and: [{ id: { $in: links.map(({ id }) => id) } }, own] }
    const found = await store.read(em => em.find(LinkRow, where, { fields: ['id'] }))
    const known = new Set(found.map(({ id }) => id))
    const session = sessions.get(clientId)
    if (session?.sessionId !== sessionId) return []
    const now = clock.monotonic()
    const moved: string[] = []
    for (const status of links) {
      if (!known.has(status.id)) continue
      const before = session.reports.get(status.id)
      if (!before || !hasSameState(before.status, status)) moved.push(status.id)
      session.reports.set(status.id, { status, at: now })
    }
    for (const [id, { at }] of session.reports)
      if (now - at > staleMs) {
        session.reports.delete(id)
        moved.push(id)
      }
    changed(clientId)
    return moved
  }

  const reportOf = (clientId: string, id: string): LinkStatus | undefined =>
    sessions.get(clientId)?.reports.get(id)?.status ?? mirrored.get(clientId)?.get(id)

  return {
    receive,
    joined: ({ clientId, sessionId }) => void sessions.set(clientId, { sessionId, reports: new Map() }),
    left({ clientId, sessionId }) {
      const session = sessions.get(clientId)
      if (session?.sessionId !== sessionId) return []
      sessions.delete(clientId)
      return [...session.reports.keys()]
    },
    forget(links) {
      for (const { id, nearId, farId } of links)
        for (const clientId of [nearId, farId]) sessions.get(clientId)?.reports.delete(id)
    },
    of: ({ id, nearId, farId }) => ({ near: reportOf(nearId, id), far: reportOf(farId, id) })
  }
}

const lossLimit = 5 // percent, in the last minute

export const isLossy = ({ loss_percent: loss = 0 }: LinkStatus): boolean => loss > lossLimit

const hasSameState = (a: LinkStatus, b: LinkStatus): boolean =>
  a.state === b.state && a.reason === b.reason && isLossy(a) === isLossy(b)
