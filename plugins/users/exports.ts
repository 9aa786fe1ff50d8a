// Where other plugins join in the life of a user.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TProperties, TSchema } from 'typebox'
import type { User } from '../../kernel/identity/entities.ts'
import { defineSlot } from '../../kernel/slot.ts'

export { askPassword } from './ask.ts'

/** The action of `GET /v1/users/me`: all of this plugin that a session with a temporary password may do. */
export const selfRead = 'self.read'

/** One more field of a user's row. */
export interface RowField<S extends TSchema = TSchema> {
  readonly key: string
  readonly schema: S
  readonly otherwise: Static<S> // of users whom `load` leaves out
  load(userIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Static<S>>>
}

export const rowSlot = defineSlot<RowField>('users.row', { keyOf: ({ key }) => key })

/** What more may be said of a new user, and what is kept of it. */
export interface Creation {
  readonly properties: TProperties // of the body
  /** Judges the body, and does what is too dear for a transaction. Answers what is to be done in it. */
  prepare(body: Readonly<Record<string, unknown>>): Promise<Save>
}
export type Save = (userId: string, em: EntityManager) => Promise<void>

export const creatingSlot = defineSlot<Creation>('users.creating')

/** What ends when a user is disabled, in the same transaction. */
export const disablingSlot = defineSlot<(user: User, em: EntityManager) => Promise<void>>('users.disabling')

/** What goes when a user is deleted, in the same transaction: a later user of that name inherits nothing. */
export interface Removal {
  readonly key?: `removed_${string}_ids` // under which the answer names what went
  remove(user: User, em: EntityManager): Promise<Removed>
}
export interface Removed {
  readonly ids: readonly string[]
  readonly after?: () => void // the commit
}

export const removingSlot = defineSlot<Removal>('users.removing')
