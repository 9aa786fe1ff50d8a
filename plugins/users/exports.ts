import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TProperties, TSchema } from 'typebox'
import type { ErrorCode } from '../../kernel/base/errors.ts'
import type { AuthenticatedCaller, Role } from '../../kernel/http/principal.ts'
import type { User } from '../../kernel/identity/entities.ts'
import { defineSlot } from '../../kernel/slot.ts'

export { askPassword } from './ask-password.ts'
export {
  invalidDisplayName,
  invalidUserId,
  lastSuperadmin,
  managedByProvider,
  reservedUserId,
  serviceAccount,
  userAlreadyExists
} from './codes.ts'
export { refuseServiceAccount } from './refuse-service-account.ts'

/** The action of `GET /v1/users/me`. A session with a temporary password may also call it. */
export const selfReadAction = 'self.read'

/** An additional field of a user's row. */
export interface RowField<S extends TSchema = TSchema> {
  readonly key: string
  readonly schema: S
  readonly defaultValue: Static<S> // for users that `load` does not return
  load(userIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Static<S>>>
}

export const rowFieldSlot = defineSlot<RowField>('users.row', { keyOf: ({ key }) => key })

/** Additional fields of the body that creates a user. */
export interface Creation {
  readonly properties: TProperties
  readonly errors?: readonly ErrorCode[] // thrown by `prepare`, for OpenAPI; default: all codes of the plugin
  /** Checks the body and does slow work before the transaction. Returns the function to run in it. */
  prepare(
    body: Readonly<Record<string, unknown>>,
    user: Pick<User, 'displayName' | 'kind'> & { readonly userId: string }
  ): Promise<Save>
}
export type Save = (userId: string, em: EntityManager) => Promise<void>

export const creationSlot = defineSlot<Creation>('users.creating')

/** Called when a user is disabled, in the same transaction. */
export const disableSlot = defineSlot<(user: User, em: EntityManager) => Promise<void>>('users.disabling')

/** Called when the role of a user changes, in the same transaction. Returns a function to run after the commit. */
export const roleSlot = defineSlot<(user: User, em: EntityManager) => Promise<() => void>>('users.role')

/** Deletes data of a deleted user in the same transaction, so that a later user of that name inherits nothing. */
export interface Removal {
  readonly key?: `removed_${string}_ids` // field of the response that lists the deleted ids
  remove(user: User, em: EntityManager): Promise<Removed>
}
export interface Removed {
  readonly ids: readonly string[]
  readonly afterCommit?: () => void
}

export const removalSlot = defineSlot<Removal>('users.removing')

/** A giver of roles, such as the groups of a provider. Returns true if this source is in use; nobody else changes its roles. */
export const roleSourceSlot = defineSlot<(source: string) => boolean>('users.role-source')

/** The service `roleSources`: roles that are not given by hand. `em` is the transaction of the change. */
export interface RoleSources {
  /** Returns null for a role that was given by hand. */
  find(em: EntityManager, userId: string): Promise<string | null>
  /** False for a source that has left the configuration. */
  isInUse(source: string): boolean
  /** Sets the role, and who gives it. Throws `last_superadmin`. */
  set(
    em: EntityManager,
    user: User,
    given: { readonly role: Role; readonly source: string | null }
  ): Promise<void>
}

export interface NewUser {
  readonly userId: string
  readonly displayName: string
  readonly role: Role
  readonly kind?: User['kind'] // default: user
}

/** A user verified by an authenticator. */
export interface Verified {
  readonly userId: string
  readonly method: string // see Principal.method
  readonly requires?: AuthenticatedCaller['requires']
  /** Creates the user at the first request. `by` is the actor in the audit log: '_' and the plugin's name. */
  readonly makes?: { readonly by: string; readonly role: Role }
}

/** The service `users`. */
export interface Users {
  find(em: EntityManager, userId: string): Promise<User | null>
  /** Throws `user_not_found`, also for `_operator`, which is not a user. */
  get(em: EntityManager, userId: string): Promise<User>
  /** Returns the user as `insert` would store it, or throws. Use it before slow work. */
  check(user: NewUser): Required<NewUser>
  insert(em: EntityManager, user: NewUser): Promise<User>
  /** Returns the verified user as the caller of a request. Null for a disabled user, a service account, and for an unknown one without `makes`. */
  caller(em: EntityManager, verified: Verified): Promise<AuthenticatedCaller | null>
}
