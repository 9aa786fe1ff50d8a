// Answers Hello: authenticates the agent by its token, and collects the parts of Welcome.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { withTimeout } from '../../../kernel/base/attribution.ts'
import { tokenRevoked, tokenUnknown } from '../../../kernel/base/errors.ts'
import type { ControlOptions } from '../../../kernel/control/host.ts'
import { objectKindSlot } from '../../../kernel/control/managed-objects.ts'
import { type AgentCapabilities, connectionSlot, type Peer } from '../../../kernel/control/peers.ts'
import { Client, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Hello, Welcome } from '../../../kernel/wire/control.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import { generationOf } from '../objects/client-generations.ts'
import type { LastSeen } from '../sessions/last-seen.ts'
import { openInternCapabilities } from './intern-capabilities.ts'
import { openVersionCheck } from './version-check.ts'

/** An agent with a valid token. */
export interface AuthenticatedAgent extends Pick<AgentCapabilities, 'capabilities'> {
  readonly clientId: string
  readonly clientName: string
  readonly tokenHash: string
  readonly sessionId: string
  readonly generation: string
  readonly connectedAt: number // ms
  readonly remoteAddr: string
  readonly hello: Omit<Static<typeof Hello.body>, 'token' | 'capabilities'>
}

interface Options extends Pick<ControlOptions, 'store' | 'clock' | 'log' | 'filled' | 'version'> {
  readonly generation: () => string // of the store
  readonly joined: LastSeen['joined']
  /** Throws Refused if two agents compete for the session. */
  readonly requireUncontested: (agent: Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>) => void
}

interface Answer {
  readonly agent: AuthenticatedAgent
  readonly welcome: Static<typeof Welcome.body>
  readonly isCurrent: () => boolean // false: the store was restored since
}

/** Answers Hello. Throws Refused for an agent that must not connect. */
export type Handshake = (hello: Static<typeof Hello.body>, remoteAddr: string) => Promise<Answer>

export function openHandshake(options: Options): Handshake {
  const {
    store,
    clock,
    log,
    filled,
    version,
    joined,
    requireUncontested,
    generation: generationNow
  } = options
  const internCapabilities = openInternCapabilities()
  const requireVersion = openVersionCheck({ clock, log })

  return async ({ token, ...hello }, remoteAddr) => {
    requireVersion({ remoteAddr, agentVersion: hello.agent_version, version: hello.protocol_version })
    const tokenHash = hashOf(token)
    const storeGeneration = generationNow()
    const { clientId, clientName, generation } = await store.read(async em => {
      const client = await clientOf(tokenHash, em)
      const clientGeneration = await generationOf(client.id, storeGeneration, em)
      return { clientId: client.id, clientName: client.name, generation: clientGeneration }
    })
    requireUncontested({ clientId, instanceId: hello.instance_id, remoteAddr })
    const capabilities = internCapabilities(hello.capabilities?.versions ?? null)
    const connectedAt = clock.now()
    const session = { clientId, sessionId: newId(connectedAt), tokenHash, connectedAt, remoteAddr }
    const seen = { agentVersion: hello.agent_version, instanceId: hello.instance_id, capabilities }
    await joined({ ...session, ...seen })
    const parts = await withTimeout(5, 'the welcome', () =>
      Promise.all(filled(connectionSlot).map(({ value }) => value.welcome?.({ clientId })))
    )
    return {
      isCurrent: () => storeGeneration === generationNow(),
      agent: { ...session, clientName, generation, hello, capabilities },
      welcome: {
        server_version: version,
        server_time_ms: clock.now(),
        session_id: session.sessionId,
        generation,
        kinds: filled(objectKindSlot).map(({ value }) => value.kind),
        parts: Object.assign({}, ...parts)
      }
    }
  }
}

async function clientOf(tokenHash: string, em: EntityManager): Promise<Client> {
  const client = await em.findOne(Client, { tokenHash })
  if (client && client.revokedAt === null) return client
  if (client || (await em.count(SpentToken, { hash: tokenHash })) > 0)
    throw new Refused(tokenRevoked.code, 'this token was revoked; enroll the agent again')
  throw new Refused(tokenUnknown.code, 'no client has this token')
}
