import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import { defineSlot } from '../slot.ts'
import type { Capability, Request } from '../wire/message.ts'

/** The desired state of one object on an agent. Revisions increase per client, across all kinds. */
export interface ManagedObject {
  readonly clientId: string
  readonly kind: string
  readonly id: string
  readonly revision: number
  /** null: keep the object in force. Otherwise remove it, and drain or cut its connections. */
  readonly removal: 'drain' | 'cut' | null
  readonly isDeferred?: boolean // set for rows that a reconnect sends before `ObjectKind.complete`
}

export type ObjectKey = Pick<ManagedObject, 'clientId' | 'kind' | 'id'>
export type ObjectRevision = ObjectKey & Pick<ManagedObject, 'revision'>

/** The desired objects on agents. They change in the transaction of `em` and are sent after its commit. */
export interface ManagedObjects {
  /** Puts objects in force; many clients cost little more than one. Returns the new revision of the last object. */
  put(em: EntityManager, ...objects: readonly ObjectKey[]): Promise<number>
  /** Removes objects. Rows stay as tombstones until agents have removed them. A cut never becomes a drain. */
  drop(em: EntityManager, keys: ObjectKey | readonly ObjectKey[], removal: 'drain' | 'cut'): Promise<number>
  /** Deletes the row without a tombstone, for a new object that the agent refused. */
  forget(em: EntityManager, object: ObjectKey): Promise<void>
  /** Call it after the commit: makes the client's outbox send the changes. Does not wait and never fails. */
  wake(clientId: string): void
  /** Call it in the change, after `put` or `drop`: from the commit on, collects the result of the object's revision. */
  deliver(em: EntityManager, object: ObjectKey, change: 'push' | 'remove'): Promise<Delivery>
  deliverAll(em: EntityManager, objects: readonly ObjectKey[], change: 'push' | 'remove'): Promise<Delivery[]>
  /** Ends the deliveries of a push that will not be sent, up to its revision. */
  refuse(object: ObjectRevision, refusal: Refusal): void
}

export interface Delivery {
  /**
   * Wakes the client and waits for the result of this revision, or of a later one that replaced it and contains the change.
   * Returns null after `timeoutSecs` (5), if the stream ends, and at once if no capable agent is connected.
   */
  answered(timeoutSecs?: number): Promise<ApplyResult | null>
}

interface Refusal {
  readonly code: string
  readonly message: string
}

/**
 * The agent's result for a row. 'applied': in force or, for a removal, no longer listening. 'removed': nothing of the object
 * is left; it comes without 'applied' if nothing had to drain. Results can repeat, for example after a reconnect.
 */
export type ApplyResult =
  | { readonly status: 'applied' }
  | ({ readonly status: 'refused' } & Refusal)
  | { readonly status: 'removed' }

/**
 * A kind of managed object. The control plugin compares revisions, sends differences and retries; the owner encodes objects
 * and interprets results. Kinds are sent in reverse dependency order, so that a limit is in force before its object.
 */
export interface ObjectKind<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  readonly kind: string
  /** Agents without it receive no object of this kind. */
  readonly capability?: Capability
  /** Its body has the revision. The agent answers with its current `revision` once the object is in force. */
  readonly push: Request<P>
  /** The agent answers with `revision` when it no longer listens, before the drain ends. */
  readonly remove: Request<R>
  /** Ids are unique across clients, so `load` takes rows of many. */
  readonly isLoadedTogether?: true
  /** Returns the bodies of `push` by id, for rows of one client. Rows without a body are removed from the agent. */
  load(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlyMap<string, Static<P>>>
  removal(row: ManagedObject): Static<R>
  /** Returns the owners of rows by id, who take turns in a backlog. Rows without one share the turn of their kind. */
  owners?(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlyMap<string, string>>
  /** Sent after all rows of a reconnect: the agent then puts the objects in force together. */
  readonly complete?: Request
  /** Returns the ids of rows that are stored as applied: an agent that joins with them causes no write. */
  settled?(rows: readonly ManagedObject[], em: EntityManager): Promise<ReadonlySet<string>>
  /** Stores a result; a transaction can have several. A refused row is sent again on the next stream. */
  recordResult?(row: ManagedObject, result: ApplyResult, em: EntityManager): Promise<void>
  /** Called after the commit of that transaction. */
  resultRecorded?(row: ManagedObject, result: ApplyResult): void
}

export const objectKindSlot = defineSlot<ObjectKind>('kernel.object-kind', { keyOf: ({ kind }) => kind })

/** Infers the types of the messages. */
export const defineObjectKind = <P extends TSchema, R extends TSchema>(kind: ObjectKind<P, R>): ObjectKind =>
  kind as unknown as ObjectKind
