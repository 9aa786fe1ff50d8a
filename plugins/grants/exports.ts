// The parts of this plugin that other plugins may use.
import type { EntityManager } from '@mikro-orm/sql'
import type { Call } from '../../kernel/http/route.ts'
import type { CreateBody, GrantRow, Removed } from './schema.ts'

export type { CreateBody, GrantRow, Removed }

/** The service `grants`. Changes take the call of a request by a superadmin, or that of the service `act`. */
export interface Grants {
  /** Throws `grant_not_found`. */
  read(id: string): Promise<GrantRow>
  /** Returns the grants of a user, at most 1,000, the oldest first; of a user that does not exist none. */
  ofUser(userId: string, em: EntityManager): Promise<GrantRow[]>
  /** Throws what `POST /v1/grants` refuses, for example `user_not_found` or `grant_already_exists`. */
  create(grant: CreateBody, call: Pick<Call, 'change'>): Promise<GrantRow>
  /** Deletes the grant and the rules that no other grant covers. Throws `grant_not_found`. */
  remove(id: string, call: Pick<Call, 'change'>): Promise<Removed>
}
