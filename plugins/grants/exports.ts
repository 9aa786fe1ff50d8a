// Exports for other plugins.
import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import { defineSlot } from '../../kernel/slot.ts'
import { parseGrant } from './parse-grant.ts'
import { type CreateBody, type GrantRow, GrantTemplate, type RemovedGrant } from './schema.ts'

export { type CreateBody, type GrantRow, GrantTemplate, type RemovedGrant }

/** Throws a Fault for what the schema of a template cannot express. Looks up no clients. */
export const checkGrantTemplate = (template: GrantTemplate): void =>
  void parseGrant({ ...template, user_id: '' })

/** A giver of grants, such as the groups at a provider. Returns true if this source is in use; nobody else changes its grants. */
export const grantSourceSlot = defineSlot<(source: string) => boolean>('grants.source')

/** The user that gets grants, and the giver. */
export interface GrantGiver {
  readonly userId: string
  readonly source: string // at most 40 characters, such as 'oidc:corp'
  readonly actor: string // in the audit log: '_' and the plugin's name
}

export interface SkippedGrant {
  readonly template: GrantTemplate
  readonly reason: Fault
}

/** The service `sourcedGrants`: grants that nobody gives by hand. `em` is the transaction of the change. */
export interface SourcedGrants {
  /**
   * Makes the grants that the user has from the source equal to the templates, with audit entries of the actor. Other grants
   * stay. Returns the templates that cannot be given, for example because no client has the name. Rules that no grant covers
   * any more stay closed for `grant_loss_keep_secs`, unless a grant covers them again, and are then removed by the actor.
   */
  set(
    em: EntityManager,
    giver: GrantGiver,
    templates: readonly GrantTemplate[]
  ): Promise<readonly SkippedGrant[]>
}

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
