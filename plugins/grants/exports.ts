// Exports for other plugins.
import type { EntityManager } from '@mikro-orm/sql'
import type { Call } from '../../kernel/http/route.ts'
import type { CreateBody, GrantRow, RemovedGrant } from './schema.ts'

export type { CreateBody, GrantRow, RemovedGrant }

/** The service `grants`. Changes need the call of a superadmin: of a request, or from `act` (plugins/http) without one. */
export interface Grants {
  /** Throws `grant_not_found`. */
  read(id: string): Promise<GrantRow>
  /** Returns the grants of a user, oldest first, at most 1,000. An unknown user has none. */
  ofUser(userId: string, em: EntityManager): Promise<GrantRow[]>
  /** Throws the errors of `POST /v1/grants`, such as `user_not_found` or `grant_already_exists`. */
  create(grant: CreateBody, call: Pick<Call, 'change'>): Promise<GrantRow>
  /** Deletes the grant and the rules that no other grant covers. Throws `grant_not_found`. */
  remove(id: string, call: Pick<Call, 'change'>): Promise<RemovedGrant>
}
