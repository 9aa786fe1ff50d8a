import type { EntityManager } from '@mikro-orm/sql'
import type { ErrorCode, Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { defineSlot } from '../../kernel/slot.ts'
import type { KeyClients, NewAdmission } from './admissions.ts'
import type { ClientRow } from './client-row.ts'

export { ClientArg, clientNameAmbiguous, clientNames, findClient, findClientId } from './client-argument.ts'
export { clientInUse, clientPending, clientRevoked } from './codes.ts'
export { conflictShownMs } from './conflict-time.ts'
export { invalidClientAddress, invalidClientName, isBareHost, isReservedName } from './name-and-address.ts'

/** Returns the ids of clients that a caller with the role user may see. The user sees the union of all results. */
export const visibleSlot =
  defineSlot<(userId: string, em: EntityManager) => Promise<readonly string[] | 'all'>>('clients.visible')

/**
 * Returns the ids of more clients that the user may see, without their addresses. `clients.visible` shows them, too.
 */
export const namedSlot =
  defineSlot<(userId: string, em: EntityManager) => Promise<readonly string[] | 'all'>>('clients.named')

/** Called in the transaction that enrolls, approves or changes a client. */
export const changedSlot =
  defineSlot<(client: Pick<Client, 'id'>, em: EntityManager) => Promise<void>>('clients.changed')

/** Called in the transaction that revokes a client. */
export const revokingSlot =
  defineSlot<(client: Client, em: EntityManager) => Promise<void>>('clients.revoking')

/** Called in the transaction that deletes a client. */
export const removingSlot =
  defineSlot<(client: Client, em: EntityManager) => Promise<void>>('clients.removing')

/** An error of fillers of `clients.removing`, for OpenAPI. */
export const removalErrorSlot = defineSlot<ErrorCode>('clients.removal-error')

export interface NewClient extends Pick<Client, 'name' | 'address' | 'tokenHash'> {
  readonly fields: Readonly<Record<string, unknown>> // of other plugins, parsed
  readonly admission?: NewAdmission // for a client that comes by an enrollment key
}

/** The service `clients`. */
export interface Clients {
  /** Throws `client_not_found`. */
  get(id: string, em: EntityManager): Promise<Client>
  /** Throws `client_not_found` also for a client that the caller must not see. */
  read(id: string, principal: Principal): Promise<ClientRow>
  /** Returns the ids of the clients that a caller with the role user may see, with or without their addresses. */
  visibleIds(userId: string, em: EntityManager): Promise<readonly string[] | 'all'>
  /** Counts the clients that the user may see, and those of them that are connected. */
  count(principal: Principal, em: EntityManager): Promise<{ total: number; connected: number }>
  /**
   * Returns the ids of at most `take` approved clients that match list parameters of other plugins, such as `selector`. `among`
   * limits the search to these ids. Throws the faults of the parameters.
   */
  matching(
    query: Readonly<Record<string, unknown>>,
    more: { readonly among: readonly string[] | null; readonly take: number },
    em: EntityManager
  ): Promise<string[]>
  /** Throws Fault unless these are valid parameters of the list of clients. */
  requireFilter(query: Readonly<Record<string, unknown>>): void
  /** Returns the errors that `matching` and `requireFilter` throw, for OpenAPI. */
  filterErrors(): readonly ErrorCode[]
  /** Returns the trimmed name, or throws `invalid_client_name`. */
  normalizeName(name: string): string
  /** Returns the address, or throws `invalid_client_address`. */
  normalizeAddress(address: string | null): string | null
  /** Returns the host name, with a suffix if a client has this name or no client may have it. */
  freeName(hostName: string, em: EntityManager): Promise<string>
  enroll(client: NewClient, em: EntityManager): Promise<Client>
  /** Returns the client with this token now. */
  findByToken(tokenHash: string, em: EntityManager): Promise<Client | null>
  /** Returns a fault `client_pending` for each of these clients that waits for an approval: it must have no rules. */
  pendingFaults(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Fault>>
  /** Counts the clients that these enrollment keys have admitted, by key. */
  countByKey(keyIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, KeyClients>>
  /** True for a token that is new, or that this client has now. */
  isTokenAvailable(tokenHash: string, clientId: string | null, em: EntityManager): Promise<boolean>
  /** Replaces the token and lifts a revocation. Returns the client as it was; call `endSession` after the commit. */
  replaceToken(id: string, tokenHash: string, em: EntityManager): Promise<Client>
  /** Ends the client's session if it was opened with this token. A session with a newer token continues. */
  endSession(id: string, tokenHash: string | null): void
}
