import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import { defineSlot } from '../slot.ts'
import type { Request } from '../wire/message.ts'

/** One object that lives on an agent, as the server wants it there. Revisions count up per client, over all kinds. */
export interface ManagedObject {
  readonly clientId: string
  readonly kind: string
  readonly id: string
  readonly revision: number
  /** null: it shall be there. Else it shall go: live connections drain, or are cut. */
  readonly removal: 'drain' | 'cut' | null
}

export type ObjectKey = Pick<ManagedObject, 'clientId' | 'kind' | 'id'>

/** What shall live on the agents. Written in the transaction of the change, sent after it. */
export interface ManagedObjects {
  /** A new revision of an object that shall be on the client. */
  put(em: EntityManager, object: ObjectKey): Promise<number>
  /** It shall go. The row stays as a tombstone until the agent no longer has it; a cut is never softened. */
  drop(em: EntityManager, object: ObjectKey, removal: 'drain' | 'cut'): Promise<number>
  /** As if it had never been: no tombstone. For what the agent has refused at create. */
  forget(em: EntityManager, object: ObjectKey): Promise<void>
  /** After the commit: there is something to say to this client. Says nothing itself, and never fails. */
  wake(clientId: string): void
}

/**
 * The agent's word on a row: taken (in force; of a removal: shut), or why not. 'gone': a removal of which nothing is
 * left; it comes without 'taken' where nothing had to drain. A word may come again, and at every reconnect.
 */
export type ApplyResult =
  | { readonly status: 'applied' }
  | { readonly status: 'refused'; readonly code: string; readonly message: string }
  | { readonly status: 'removed' }

/**
 * A kind of object that lives on agents. The kernel compares revisions, sends what differs and asks again; the owner
 * says how an object looks on the wire and what an answer means. Kinds are sent in reverse dependency order:
 * what limits an object of another plugin is there before the object.
 */
export interface ObjectKind<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  readonly kind: string
  /** Its body holds the revision. Answered when it is in force, with the `revision` (integer) that the agent holds. */
  readonly push: Request<P>
  /** Answered when it is shut, not when it is drained; with `revision`, too. */
  readonly remove: Request<R>
  /** Bodies of `push` for the rows, as the store has them now. A row left out is not sent, and goes from the agent. */
  load(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlyMap<string, Static<P>>>
  removal(row: ManagedObject): Static<R>
  order?(rows: readonly ManagedObject[], em: EntityManager): Promise<readonly ManagedObject[]> // default: as they changed
  /** In a transaction, of several rows at times. A refusal is told once a stream, and tried again on the next. */
  recordResult(row: ManagedObject, result: ApplyResult, em: EntityManager): Promise<void>
  /** After that transaction: for whoever waits for the word. */
  resultRecorded?(row: ManagedObject, result: ApplyResult): void
}

export const objectKindSlot = defineSlot<ObjectKind>('kernel.object-kind', { keyOf: ({ kind }) => kind })

/** Exists for its inference. */
export const defineObjectKind = <P extends TSchema, R extends TSchema>(kind: ObjectKind<P, R>): ObjectKind =>
  kind as unknown as ObjectKind
