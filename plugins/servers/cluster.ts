// The servers of a store, as the control stream uses them.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { Peer, Peers } from '../../kernel/control/peers.ts'
import type { Servers, Session } from '../../kernel/control/servers.ts'
import type { Kernel } from '../../kernel/plugin.ts'

/** Why a remote session ended if its agent has another session. */
export const movedReason = 'moved'

/** A session that an agent begins, as it is stored for peers. */
export interface TakenSession extends Session {
  readonly tokenHash: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly connectedAt: number // ms
}

export interface Cluster extends Servers {
  /** SQL for the number of a change; peers find the change by it. */
  readonly changeNumber: string
  /** Resolves when all peers know of this server, and it knows their sessions. From then on it may change the store. */
  joinCluster(): Promise<void>
  /** True while peers are live. */
  hasOthers(): boolean
  /** Agents that are connected to peers. */
  readonly remotePeers: Peers
  /** The sessions belong to this server from the end of the change on. */
  takeSessions(taken: readonly TakenSession[], em: EntityManager): Promise<void>
  /** Ends sessions. Returns the clients of sessions that were in force; they no longer have a server. */
  endSessions(sessions: readonly Session[], em: EntityManager): Promise<readonly string[]>
  /** Sends a change signal to peers. It may be lost: they also poll. */
  signal(): void
  /** Stores results for peers that may wait for them. Returns false if this server is alone, and has stored nothing. */
  storeResults(of: readonly RecordedResult[], em: EntityManager): Promise<boolean>
  /** Polls for results that peers store, until the change has one or is given up. */
  watchResult(expected: ExpectedResult): void
  /** Call it when the store is another database or an earlier state. */
  restored(): void
  /** Leaves the sessions and tasks of this server to peers. */
  close(): Promise<void>
}

/** A change. This server waits for its result. */
export interface ExpectedResult {
  readonly object: ObjectKey
  readonly result: Promise<unknown>
}

export interface RecordedResult {
  readonly row: ManagedObject
  readonly result: ApplyResult
}

/** The sessions of this server. The cluster tells them what happens at peers. */
export interface LocalSessions {
  find(clientId: string): Peer | undefined
  /** True if the agent was sent to peers, and none has taken it yet: its session still counts as local. */
  isHandedOver(clientId: string): boolean
  all(): readonly Peer[]
  /** Called when another session has replaced `older`. */
  replaced(older: Peer, by: Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>): void
  /** Called when objects of the client have changed. */
  wake(clientId: string): void
  /** Called with the result of an object that this server waits for. */
  recorded(row: ManagedObject, result: ApplyResult): void
}

export interface ClusterOptions extends Pick<Kernel, 'store' | 'clock' | 'log' | 'codec'> {
  readonly id: string
  readonly version: string
  readonly local: LocalSessions
}
