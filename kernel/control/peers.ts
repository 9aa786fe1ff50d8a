import type { EntityManager } from '@mikro-orm/sql'
import { type ErrorCode, Fault } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import type { Client } from '../identity/entities.ts'
import { defineSlot } from '../slot.ts'
import type { Capability } from '../wire/message.ts'
import type { ForwardingChannel } from '../wire/rpc.ts'

/** What an agent announced in Hello. Stored with its client, so that it is known while the agent is offline. */
export interface AgentCapabilities {
  readonly agentVersion: string
  readonly capabilities: Readonly<Record<string, string>> | null // null: an agent that announces none
}

/** Compares the announced capability or, for an agent that announces none, the agent's version. */
export const isCapable = (agent: AgentCapabilities, { id, since }: Capability): boolean =>
  isAtLeast(agent.capabilities === null ? agent.agentVersion : (agent.capabilities[id] ?? ''), since)

/** Throws `refusal` if the agent, as it was last seen, lacks the capability. One never seen is checked when it connects. */
export function requireCapability(client: Client, capability: Capability, refusal: ErrorCode): void {
  const { agentVersion, capabilities = null } = client
  if (agentVersion == null || isCapable({ agentVersion, capabilities }, capability)) return
  const missing = `${capability.id} ${capability.since}`
  throw new Fault(refusal, `client ${client.id} runs ${agentVersion}, without ${missing}; update its agent`)
}

/** A connected agent, of this server or of another one of its store. */
export interface Peer extends ForwardingChannel, AgentCapabilities {
  readonly clientId: string
  readonly tokenHash: string // of the token it authenticated with
  readonly sessionId: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly connectedAt: number // ms
  readonly isElsewhere: boolean // at another server
  can(capability: Capability): boolean
  /** Aborted when the stream has ended. Its reason is for the log, such as 'token_revoked', 'replaced', 'closed'. */
  readonly ended: AbortSignal
  end(reason: string): void
  /**
   * A change for this session. Rejects with Refused, and changes nothing, if another session has replaced it. Of a session at
   * another server it rejects always: what an agent tells is stored by the server that it tells.
   */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
}

/** A stream before Hello. It ends after 10 s without one. */
export interface UnauthenticatedPeer {
  readonly remoteAddr: string
}

/** The directory of connected agents. */
export interface Peers {
  find(clientId: string): Peer | undefined
  all(): readonly Peer[]
}

export interface ConnectionHooks {
  /** Returns parts of Welcome, under keys of the plugin's own: what the agent has to know before anything else is sent. */
  welcome?(peer: Pick<Peer, 'clientId'>): Promise<Readonly<Record<string, Uint8Array>>>
  joined?(peer: Peer): void
  /** Called before the server ends a stream whose token was revoked; has 1 s for last requests. */
  leaving?(peer: Peer, reason: string): Promise<void>
  /** A newer session of the same client may have joined already. */
  left?(peer: Peer, reason: string): void
}

/** Called when an agent connects and disconnects. */
export const connectionSlot = defineSlot<ConnectionHooks>('kernel.connection')
