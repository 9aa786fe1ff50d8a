// When agents came and were seen last, stored in groups: a fleet that returns or leaves at once costs few commits.

import type { EntityManager } from '@mikro-orm/sql'
import type { AgentCapabilities } from '../../../kernel/control/peers.ts'
import type { Session } from '../../../kernel/control/servers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Cluster, TakenSession } from '../../servers/exports.ts'
import { batchCalls } from './batch-calls.ts'

interface Seen extends AgentCapabilities, Omit<TakenSession, 'at'> {}

export type LastSeen = ReturnType<typeof openLastSeen>

const maxJoined = 64 // a statement each
const maxLeft = 500 // one statement

interface Services extends Pick<Kernel, 'store' | 'clock'> {
  readonly servers: Pick<Cluster, 'takeSessions' | 'endSessions' | 'inForce' | 'signal'>
}

export function openLastSeen({ store, clock, servers }: Services) {
  /** Resolves when the session is this server's, with what its Hello has said. */
  const joined = batchCalls<Seen>(maxJoined, async group => {
    await store.change(async em => {
      const now = clock.now()
      await servers.takeSessions(
        lastOf(group).map(agent => ({ ...agent, at: now })),
        em
      )
      for (const { clientId: id, agentVersion, capabilities } of group)
        await em.nativeUpdate(
          Client,
          { id },
          { agentVersion, capabilities, connectedAt: now, lastSeenAt: now }
        )
    })
    servers.signal()
  })

  const note = (ids: readonly string[], em: EntityManager): Promise<number> =>
    em.nativeUpdate(Client, { id: { $in: [...ids] } }, { lastSeenAt: clock.now() })

  /** Resolves when it is stored that the clients are connected until now. */
  const seen = batchCalls<Session>(maxLeft, async sessions => {
    await store.change(async em => {
      const inForce = await servers.inForce(sessions, em)
      await note(
        sessions.filter(({ sessionId }) => inForce.has(sessionId)).map(({ clientId }) => clientId),
        em
      )
    })
  })

  /** Resolves when it is stored that the sessions have ended. */
  const left = batchCalls<Session>(maxLeft, async sessions => {
    await store.change(async em => note(await servers.endSessions(sessions, em), em))
    servers.signal()
  })

  return { joined, seen, left }
}

/** Of two sessions of one client, the later one counts. */
const lastOf = (group: readonly Seen[]): Seen[] => [
  ...new Map(group.map(agent => [agent.clientId, agent])).values()
]
