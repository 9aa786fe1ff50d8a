// The groups of a user at a provider: who may sign in, and with which role.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Role } from '../../../kernel/http/principal.ts'
import type { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { RecordAs } from '../../http/exports.ts'
import { lastSuperadmin, type RoleSources } from '../../users/exports.ts'
import { groupsMissing, notAllowed } from '../codes.ts'
import type { Claims } from '../provider/provider-client.ts'
import type { Provider } from '../provider/provider-config.ts'

export const actor = '_oidc' // in the audit log

const rising: readonly Role[] = ['user', 'viewer', 'operator', 'superadmin']

/** Names the provider in `role_source` of users and `source` of grants. */
export const sourceOf = (provider: string): string => `oidc:${provider}`

/** Returns the groups; null if the configuration uses none. Throws `oidc_groups_missing` or `oidc_not_allowed`. */
export function requireGroups(provider: Provider, claims: Claims): readonly string[] | null {
  const { allowed_groups: allowed, roles, grants, groups_claim: claim } = provider
  if (!allowed && !roles && !grants) return null
  const groups = groupsIn(claims[claim])
  if (!groups) throw new Fault(groupsMissing, `the ID token has no claim ${claim} with groups`)
  if (allowed && !groups.some(group => allowed.includes(group)))
    throw new Fault(notAllowed, 'no group of the user is in allowed_groups')
  return groups
}

/** Returns null if the claim is absent or no list of names. Some providers send a single group as text. */
function groupsIn(claim: unknown): readonly string[] | null {
  const list = typeof claim === 'string' ? [claim] : claim
  return Array.isArray(list) && list.every(group => typeof group === 'string') ? list : null
}

/** Gives users the roles of their groups. A role that was given by hand, or by another provider, stays. */
interface GroupRoles {
  /** Makes the role equal to that of the groups, in the transaction of the sign-in. */
  apply(em: EntityManager, user: User, groups: readonly string[], provider: Provider): Promise<void>
  /** Ends a role of the provider. */
  end(em: EntityManager, user: User, provider: string): Promise<void>
}

interface Deps extends Pick<Kernel, 'log'> {
  readonly roleSources: RoleSources
  readonly recordAs: RecordAs
}

export function openGroupRoles({ log, roleSources, recordAs }: Deps): GroupRoles {
  async function give(em: EntityManager, user: User, role: Role, provider: string): Promise<void> {
    const source = await roleSources.find(em, user.id)
    const isOwn = source === sourceOf(provider) || (source !== null && !roleSources.isInUse(source))
    if (!isOwn && (source !== null || user.role !== 'user')) return
    if (role === user.role && isOwn === (role !== 'user')) return
    try {
      await roleSources.set(em, user, { role, source: role === 'user' ? null : sourceOf(provider) })
    } catch (error) {
      if (!(error instanceof Fault && error.errorCode === lastSuperadmin)) throw error
      const fields = { user: user.id, provider }
      log.warn('oidc.last_superadmin', 'the groups would demote the last superadmin; the role stays', fields)
      return
    }
    const changes = () => [{ field: 'role', from: user.role, to: role }]
    await recordAs(em, { actor, action: 'user.update', resource: { kind: 'user', id: user.id, changes } })
  }

  return {
    async apply(em, user, groups, { name, roles }) {
      if (!roles) return
      const given = groups.flatMap(group => (Object.hasOwn(roles, group) ? (roles[group] ?? []) : []))
      const highest = rising.findLast(role => given.some(one => one === role)) ?? 'user'
      await give(em, user, highest, name)
    },
    end: (em, user, provider) => give(em, user, 'user', provider)
  }
}
