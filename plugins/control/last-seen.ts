// When agents came and were seen last, stored in groups: a fleet that returns or leaves at once costs few commits.

import type { AgentCapabilities } from '../../kernel/control/peers.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { grouped } from './grouped.ts'

interface Seen extends AgentCapabilities {
  readonly clientId: string
}

export type LastSeen = ReturnType<typeof openLastSeen>

const maxJoined = 64 // a statement each
const maxLeft = 500 // one statement

export function openLastSeen({ store, clock }: Pick<Kernel, 'store' | 'clock'>) {
  /** Resolves when it is stored with what its Hello has said. */
  const joined = grouped<Seen>(maxJoined, group =>
    store.change(async em => {
      const now = clock.now()
      for (const { clientId: id, agentVersion, capabilities } of group)
        await em.nativeUpdate(
          Client,
          { id },
          { agentVersion, capabilities, connectedAt: now, lastSeenAt: now }
        )
    })
  )

  /** Resolves when it is stored that the clients were connected until now. */
  const seen = grouped<string>(maxLeft, async ids => {
    await store.change(em => em.nativeUpdate(Client, { id: { $in: [...ids] } }, { lastSeenAt: clock.now() }))
  })

  return { joined, seen }
}
