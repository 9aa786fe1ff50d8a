import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import { defineSlot } from '../slot.ts'
import type { Capability, Request } from '../wire/message.ts'

/** One object on an agent, as the server wants it there. Revisions count up for each client, over all kinds. */
export interface ManagedObject {
  readonly clientId: string
  readonly kind: string
  readonly id: string
  readonly revision: number
  /** null: the object is to be in force. Otherwise it is to be removed: live connections drain or are cut. */
  readonly removal: 'drain' | 'cut' | null
  readonly isHeld?: boolean // sent at a reconnect, before `ObjectKind.complete`
}

export type ObjectKey = Pick<ManagedObject, 'clientId' | 'kind' | 'id'>

/** The objects that the server keeps on agents. They change in `em`'s transaction and are sent after its commit. */
export interface ManagedObjects {
  /** Wants the objects in force, those of many clients at little more cost than one. Returns the new revision of the last one. */
  put(em: EntityManager, ...objects: readonly ObjectKey[]): Promise<number>
  /** Wants objects removed, like `put`. Rows stay as tombstones until agents have removed them; a cut never becomes a drain. */
  drop(em: EntityManager, keys: ObjectKey | readonly ObjectKey[], removal: 'drain' | 'cut'): Promise<number>
  /** Deletes the row without a tombstone: for an object that the agent refused at its creation. */
  forget(em: EntityManager, object: ObjectKey): Promise<void>
  /** After the commit: makes the client's outbox send what changed. Does not wait and never fails. */
  wake(clientId: string): void
  /**
   * After the commit: wakes the client and waits for its agent's next result for the object. Returns null when no result
   * comes within `timeoutSecs` (5), when the stream ends, and at once when no agent that can take the object is connected.
   * A removal ends the waits for pushes of the object with 'removed'.
   */
  deliver(object: ObjectKey, change: 'push' | 'remove', timeoutSecs?: number): Promise<ApplyResult | null>
  /** Ends the waits for a push of the object that will not be sent. */
  refuse(object: ObjectKey, refusal: Refusal): void
}

export interface Refusal {
  readonly code: string
  readonly message: string
}

/**
 * The agent's result for a row. 'applied': in force, or for a removal: no longer listening. 'removed': nothing of a
 * removed object is left; comes without 'applied' where nothing had to drain. A result may be repeated, for example
 * after a reconnect.
 */
export type ApplyResult =
  | { readonly status: 'applied' }
  | ({ readonly status: 'refused' } & Refusal)
  | { readonly status: 'removed' }

/**
 * A kind of managed object. The control plugin compares revisions, sends what differs and retries; the owner of the kind
 * encodes objects and interprets results. Kinds are sent in reverse dependency order: what limits an object of another
 * plugin is in force before the object.
 */
export interface ObjectKind<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  readonly kind: string
  /** Agents without it are sent no object of this kind. */
  readonly capability?: Capability
  /** Its body has the revision. The agent answers when the object is in force, with the `revision` it has now. */
  readonly push: Request<P>
  /** The agent answers when it no longer listens, before the drain ends; with `revision`, too. */
  readonly remove: Request<R>
  /** No two clients have an object of the same id: `load` is given rows of many. */
  readonly isLoadedTogether?: true
  /** Returns the bodies of `push`, by id, for rows of one client. A row without a body is not sent, and removed from the agent. */
  load(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlyMap<string, Static<P>>>
  removal(row: ManagedObject): Static<R>
  /** Sent after all rows of a reconnect: the objects that the agent held back until then come into force together. */
  readonly complete?: Request
  /** Returns the ids of rows that the store has as applied already: when an agent joins with them, no result is stored. */
  settled?(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlySet<string>>
  /** Stores a result; one transaction may hold results of several rows. A refused row is sent again on the next stream. */
  recordResult?(row: ManagedObject, result: ApplyResult, em: EntityManager): Promise<void>
  /** After the commit of that transaction. */
  resultRecorded?(row: ManagedObject, result: ApplyResult): void
}

export const objectKindSlot = defineSlot<ObjectKind>('kernel.object-kind', { keyOf: ({ kind }) => kind })

/** Infers the types of the messages. */
export const defineObjectKind = <P extends TSchema, R extends TSchema>(kind: ObjectKind<P, R>): ObjectKind =>
  kind as unknown as ObjectKind
