// The servers of one store: one with SQLite, several with PostgreSQL.
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from './peers.ts'

export interface ServerRecord {
  readonly id: string // from the configuration, or generated at the start
  readonly version: string
  readonly startedAt: number // ms
  readonly lastSeenAt: number // ms, by the database clock
  readonly sessions: number // connected agents
  readonly tasks: readonly string[] // leased to it
}

export interface Servers {
  readonly id: string
  /** False while peer servers can change the store. */
  isAlone(): boolean
  /** Returns the servers that were seen within 60 s. */
  list(): Promise<readonly ServerRecord[]>
  /** Runs `work` if this server has the lease of the task. A peer takes over when it dies, so `work` must be idempotent. */
  onOne(task: string, work: () => unknown): Promise<void>
  /** Mirrors values of clients that are connected here to the peer servers. Call the returned function when one changes. */
  mirror<T>(mirrored: Mirrored<T>): (clientId: string) => void
  /** Returns the sessions that no other has replaced. None is replaced before the change ends. */
  inForce(sessions: readonly Session[], em: EntityManager): Promise<ReadonlySet<string>>
}

/** Live values of clients that are not stored. Values are JSON. */
export interface Mirrored<T> {
  readonly key: string // begins with the plugin's name
  /** Returns the value of a client that is connected here, if there is one. */
  value(clientId: string): T | undefined
  /** Takes the value from a peer server; undefined when the client has left it. */
  heard(clientId: string, value: T | undefined): void
}

export type Session = Pick<Peer, 'clientId' | 'sessionId'>
