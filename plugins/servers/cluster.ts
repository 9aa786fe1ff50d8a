// What the other parts of this plugin have of the servers of a store.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Servers, Session } from '../../kernel/control/servers.ts'
import type { Kernel } from '../../kernel/plugin.ts'

/** Why a session at another server has ended whose agent has one again. */
export const movedReason = 'moved'

/** An agent that takes its session, as it is kept for other servers. */
export interface TakenSession extends Session {
  readonly tokenHash: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly at: number // ms
}

export interface Cluster extends Servers {
  /** SQL of the number of a change, by which others find it. */
  readonly changeNumber: string
  /** Resolves when all others know of this server, and it knows of their sessions: from then on it may do all that they do. */
  joinCluster(): Promise<void>
  /** True while others are seen to live. */
  hasOthers(): boolean
  /** Sessions of agents at other servers. */
  readonly remotePeers: { find(clientId: string): Peer | undefined; all(): readonly Peer[] }
  /** The sessions are this server's from the end of the change on. */
  takeSessions(taken: readonly TakenSession[], em: EntityManager): Promise<void>
  /** The sessions have ended. Those in force are no server's from then on, and are returned. */
  endSessions(sessions: readonly Session[], em: EntityManager): Promise<readonly string[]>
  /** Tells the others that something has changed. A signal may be lost: they look by themselves, too. */
  signal(): void
  /** Keeps results for others, who may wait for them. */
  storeResults(of: readonly RecordedResult[], em: EntityManager): Promise<void>
  /** Looks for the result of an object that another server sends, until the promise is settled. */
  watchResult(object: ObjectKey, until: Promise<unknown>): void
  /** The store is another database, or an earlier state of it. */
  restored(): void
  /** Others take the sessions and tasks of this server. */
  close(): Promise<void>
}

export interface RecordedResult {
  readonly row: ManagedObject
  readonly result: ApplyResult
}

/** What happens at other servers, for what is at this one. */
export interface LocalSessions {
  /** A session of this server. */
  find(clientId: string): Peer | undefined
  /** It was sent to other servers, and its session counts until one has taken it. */
  isHandedOver(clientId: string): boolean
  all(): readonly Peer[]
  /** Another session has replaced it. */
  replaced(older: Peer, by: Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>): void
  /** Objects of its client have changed. */
  wake(clientId: string): void
  /** The result of an object for which this server waits. */
  recorded(row: ManagedObject, result: ApplyResult): void
}

export interface ClusterOptions extends Pick<Kernel, 'store' | 'clock' | 'log' | 'codec'> {
  readonly id: string
  readonly version: string
  readonly local: LocalSessions
}
