import type { EntityManager } from '@mikro-orm/sql'
import { type ErrorCode, Fault } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import type { Client } from '../identity/entities.ts'
import { defineSlot } from '../slot.ts'
import type { Capability } from '../wire/message.ts'
import type { ForwardingChannel } from '../wire/rpc.ts'

/** Announced in Hello, and stored with the client for when the agent is offline. */
export interface AgentCapabilities {
  readonly agentVersion: string
  readonly capabilities: Readonly<Record<string, string>> | null // null: it announced none
}

/** Compares the announced capability or, without announcements, the agent's version. */
export const isCapable = (agent: AgentCapabilities, { id, since }: Capability): boolean =>
  isAtLeast(agent.capabilities === null ? agent.agentVersion : (agent.capabilities[id] ?? ''), since)

/** Throws `refusal` if the agent lacked the capability when last seen. A new agent is checked when it connects. */
export function requireCapability(client: Client, capability: Capability, refusal: ErrorCode): void {
  const { agentVersion, capabilities = null } = client
  if (agentVersion == null || isCapable({ agentVersion, capabilities }, capability)) return
  const missing = `${capability.id} ${capability.since}`
  throw new Fault(refusal, `client ${client.id} runs ${agentVersion}, without ${missing}; update its agent`)
}

/** An agent that is connected to this server or to a peer server. */
export interface Peer extends ForwardingChannel, AgentCapabilities {
  readonly clientId: string
  readonly tokenHash: string // of the token that it used
  readonly sessionId: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly connectedAt: number // ms
  readonly isElsewhere: boolean // at a peer server
  can(capability: Capability): boolean
  /** Aborted when the stream has ended, with a reason for the log: 'token_revoked', 'replaced', 'closed'. */
  readonly ended: AbortSignal
  end(reason: string): void
  /**
   * Runs a change for this session. Rejects with Refused, without a change, if another session has replaced it, or if the
   * session is at a peer server: only the server that receives a report stores it.
   */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
}

/** A stream before Hello, which must come within 10 s. */
export interface UnauthenticatedPeer {
  readonly remoteAddr: string
}

/** The directory of connected agents. */
export interface Peers {
  find(clientId: string): Peer | undefined
  all(): readonly Peer[]
}

export interface ConnectionHooks {
  /** Returns parts of Welcome, under keys of the plugin. The agent gets them before anything else. */
  welcome?(peer: Pick<Peer, 'clientId'>): Promise<Readonly<Record<string, Uint8Array>>>
  joined?(peer: Peer): void
  /** Called before the server ends the stream of a revoked token. Has 1 s for last requests. */
  leaving?(peer: Peer, reason: string): Promise<void>
  /** A newer session of the client may have joined before. */
  left?(peer: Peer, reason: string): void
  /** Called at most once a minute while two agents with one bundle compete for the session of their client. */
  contested?(conflict: InstanceConflict): Promise<void>
}

export interface InstanceConflict {
  readonly clientId: string
  readonly remoteAddrs: readonly string[] // of the two agents
}

/** Called when an agent connects and disconnects. */
export const connectionSlot = defineSlot<ConnectionHooks>('kernel.connection')
