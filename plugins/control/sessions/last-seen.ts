// Stores when agents joined and were last seen, in batches: a fleet that returns or leaves at once needs few commits.
import type { EntityManager } from '@mikro-orm/sql'
import type { AgentCapabilities } from '../../../kernel/control/peers.ts'
import type { Session } from '../../../kernel/control/servers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Cluster, TakenSession } from '../../servers/exports.ts'
import { batchCalls } from './batch-calls.ts'

interface Seen extends AgentCapabilities, TakenSession {}

export interface LastSeen {
  /** Resolves when the session belongs to this server, with the facts of its Hello. */
  joined(agent: Seen): Promise<void>
  /** Resolves when the store has the current time as the last-seen time of the session. */
  seen(session: Session): Promise<void>
  /** Resolves when the store has the session as ended. */
  left(session: Session): Promise<void>
}

const maxJoined = 64 // one statement each
const maxLeft = 500 // one statement for all

interface Services extends Pick<Kernel, 'store' | 'clock'> {
  readonly servers: Pick<Cluster, 'takeSessions' | 'endSessions' | 'inForce' | 'signal'>
}

export function openLastSeen({ store, clock, servers }: Services): LastSeen {
  const joined = batchCalls<Seen>(maxJoined, async group => {
    await store.change(async em => {
      const now = clock.now()
      await servers.takeSessions(latestByClient(group), em)
      for (const { clientId: id, agentVersion, capabilities, remoteAddr, connectedAt } of group)
        await em.nativeUpdate(
          Client,
          { id },
          { agentVersion, capabilities, remoteAddr, connectedAt, lastSeenAt: now }
        )
    })
    servers.signal()
  })

  const setSeen = (ids: readonly string[], em: EntityManager): Promise<number> =>
    em.nativeUpdate(Client, { id: { $in: [...ids] } }, { lastSeenAt: clock.now() })

  const seen = batchCalls<Session>(maxLeft, async sessions => {
    await store.change(async em => {
      const inForce = await servers.inForce(sessions, em)
      await setSeen(
        sessions.filter(({ sessionId }) => inForce.has(sessionId)).map(({ clientId }) => clientId),
        em
      )
    })
  })

  const left = batchCalls<Session>(maxLeft, async sessions => {
    await store.change(async em => setSeen(await servers.endSessions(sessions, em), em))
    servers.signal()
  })

  return { joined, seen, left }
}

/** If a client has two sessions, the later one counts. */
const latestByClient = (group: readonly Seen[]): Seen[] => [
  ...new Map(group.map(agent => [agent.clientId, agent])).values()
]
