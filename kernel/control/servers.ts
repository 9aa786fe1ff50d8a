// The servers of one store. With SQLite there is one.
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from './peers.ts'

export interface ServerRecord {
  readonly id: string // of the configuration, or made at the start
  readonly version: string
  readonly startedAt: number // ms
  readonly lastSeenAt: number // ms, by the clock of the database
  readonly sessions: number // of agents
  readonly tasks: readonly string[] // which it alone does
}

export interface Servers {
  readonly id: string
  /** False while other servers may change the store. */
  isAlone(): boolean
  /** Those that live, or were seen within 60 s. */
  list(): Promise<readonly ServerRecord[]>
  /** Runs `work`, which may be done twice, if the task is this server's. One has it for as long as it lives: then another takes it. */
  onOne(task: string, work: () => unknown): Promise<void>
  /** Shows the other servers what is known of clients that are connected here. Returns what is to be called when it has changed. */
  mirror<T>(mirrored: Mirrored<T>): (clientId: string) => void
  /** Returns the sessions that no other has replaced. They are not replaced before the change ends. */
  inForce(sessions: readonly Session[], em: EntityManager): Promise<ReadonlySet<string>>
}

/** What is known live of clients, and stored nowhere. Values are JSON. */
export interface Mirrored<T> {
  readonly key: string // begins with the name of the plugin
  /** What this server knows of the client; undefined: nothing. */
  value(clientId: string): T | undefined
  /** What another server knows of it; undefined: it has the client no more. */
  heard(clientId: string, value: T | undefined): void
}

export type Session = Pick<Peer, 'clientId' | 'sessionId'>
