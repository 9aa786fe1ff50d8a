import { isAtLeast } from '../base/version.ts'
import { defineSlot } from '../slot.ts'
import type { Capability } from '../wire/message.ts'
import type { MessageChannel } from '../wire/rpc.ts'

/** What an agent said of itself in Hello; kept with its client, so that it also speaks for one that is offline. */
export interface AgentCapabilities {
  readonly agentVersion: string
  readonly capabilities: Readonly<Record<string, string>> | null // null: an agent that names none
}

/** One that names its capabilities is judged by them, an older one by its version. */
export const isCapable = (
  { agentVersion, capabilities }: AgentCapabilities,
  { id, since }: Capability
): boolean => isAtLeast(capabilities === null ? agentVersion : (capabilities[id] ?? ''), since)

/** A connected agent. */
export interface Peer extends MessageChannel, AgentCapabilities {
  readonly clientId: string
  readonly tokenHash: string // with which it came in
  readonly sessionId: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly connectedAt: number // ms
  can(capability: Capability): boolean
  /** Aborted when the stream has ended; its reason is a word for the log: 'token_revoked', 'replaced', 'closed'. */
  readonly ended: AbortSignal
  end(reason: string): void
}

/** A stream that has not said Hello; until it does, it has 10 s in all. */
export interface UnauthenticatedPeer {
  readonly remoteAddr: string
}

/** The directory of connected agents. An interface, because one day several servers may share it. */
export interface Peers {
  find(clientId: string): Peer | undefined
  all(): readonly Peer[]
}

export interface ConnectionHooks {
  /** Before anything is sent to the agent: what it has to know goes into Welcome, under a key of the filler's own. */
  welcome?(peer: Pick<Peer, 'clientId'>): Promise<Readonly<Record<string, Uint8Array>>>
  joined?(peer: Peer): void
  /** It is about to be ended for good (its token holds no more): time, 1 s at most, to ask for a last word. */
  leaving?(peer: Peer, reason: string): Promise<void>
  /** A newer session of the same client may have joined before. */
  left?(peer: Peer, reason: string): void
}

/** Told when an agent joins and leaves. */
export const connectionSlot = defineSlot<ConnectionHooks>('kernel.connection')
