import type { EntityManager } from '@mikro-orm/sql'
import type { User } from '../../../kernel/identity/entities.ts'
import type { Provider } from '../provider/provider-config.ts'
import { openGroupGrants } from './group-grants.ts'
import { openGroupRoles } from './groups.ts'

/** Everything that groups at a provider give to a user: the role, and grants. */
export interface GroupRights {
  /** Makes the rights equal to those of the groups, in the transaction of the sign-in. */
  apply(em: EntityManager, user: User, groups: readonly string[], provider: Provider): Promise<void>
  /** Ends all rights that the provider gives. */
  end(em: EntityManager, user: User, provider: string): Promise<void>
}

type Deps = Parameters<typeof openGroupRoles>[0] & Parameters<typeof openGroupGrants>[0]

/** The role first: it decides which rules need a grant. */
export function openGroupRights(deps: Deps): GroupRights {
  const groupRoles = openGroupRoles(deps)
  const groupGrants = openGroupGrants(deps)
  return {
    async apply(em, user, groups, provider) {
      await groupRoles.apply(em, user, groups, provider)
      await groupGrants.apply(em, user.id, groups, provider)
    },
    async end(em, user, provider) {
      await groupRoles.end(em, user, provider)
      await groupGrants.end(em, user.id, provider)
    }
  }
}
