// Roles that are not given by hand, such as those of groups at a provider.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { User } from '../../kernel/identity/entities.ts'
import { superadmins } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { lastSuperadmin, managedByProvider } from './codes.ts'
import { RoleSource } from './entities.ts'
import { type RoleSources, roleSlot, roleSourceSlot } from './exports.ts'
import { noteRevokedRights } from './revoked-rights.ts'

export function openRoleSources({ filled }: Pick<Kernel, 'filled'>): RoleSources {
  return {
    isInUse: source => isInUse(source, filled),

    async find(em, userId) {
      return (await em.findOne(RoleSource, { userId }))?.source ?? null
    },

    async set(em, user, { role, source }) {
      const isLast = user.role === 'superadmin' && role !== 'superadmin' && !user.disabled
      if (isLast && user.kind === 'user' && (await em.count(User, superadmins)) === 1)
        throw new Fault(lastSuperadmin, `${user.id} is the last enabled superadmin; create another one first`)
      await forget(em, user.id)
      if (source !== null) await em.insert(RoleSource, { userId: user.id, source })
      if (role === user.role) return
      await em.nativeUpdate(User, { id: user.id }, { role })
      const changed = { ...user, role }
      noteRevokedRights(changed, em)
      for (const { value: onRole } of filled(roleSlot)) afterCommit(em, await onRole(changed, em))
    }
  }
}

const isInUse = (source: string, filled: SlotReader): boolean =>
  filled(roleSourceSlot).some(({ value: isUsed }) => isUsed(source))

/** A role that is then given by hand has no source. */
export const forget = (em: EntityManager, userId: string): Promise<number> =>
  em.nativeDelete(RoleSource, { userId })

/** Throws `managed_by_provider` for a role from a source in the configuration. */
export async function requireOwnRole(em: EntityManager, userId: string, filled: SlotReader): Promise<void> {
  const row = await em.findOne(RoleSource, { userId })
  if (!row || !isInUse(row.source, filled)) return
  throw new Fault(
    managedByProvider,
    `the role of ${userId} comes from its groups (${row.source}); change the groups there`
  )
}

/** Returns the sources of the roles of users. Asks the store only if a plugin gives roles. */
export async function loadSources(
  userIds: readonly string[],
  filled: SlotReader,
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  if (filled(roleSourceSlot).length === 0) return new Map()
  const found = await em.find(RoleSource, { userId: { $in: [...userIds] } })
  return new Map(found.map(({ userId, source }) => [userId, source]))
}

/** A restored store has no source of a role that was given by hand since. */
export const endedSources = revocationSlot.fill({
  table: 'users_role_source',
  sql: `delete from users_role_source where not exists
    (select 1 from old.users_role_source o where o.user_id = users_role_source.user_id)`
})
