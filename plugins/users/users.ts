import type { EntityManager } from '@mikro-orm/sql'
import { Fault, userNotFound } from '../../kernel/base/errors.ts'
import { controlChars } from '../../kernel/base/log.ts'
import { User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { invalidDisplayName, invalidUserId, reservedUserId, userAlreadyExists } from './codes.ts'
import type { NewUser, Users } from './exports.ts'

export function openUsers({ clock }: Kernel): Users {
  const find = (em: EntityManager, userId: string): Promise<User | null> => em.findOne(User, { id: userId })

  return {
    find,
    check,

    async get(em, userId) {
      const user = await find(em, userId)
      if (!user) throw new Fault(userNotFound, `no user ${userId}`)
      return user
    },

    async insert(em, newUser) {
      const { userId, displayName, role } = check(newUser)
      if (await find(em, userId))
        throw new Fault(userAlreadyExists, `user_id ${userId} is taken; choose another`)
      const user: User = { id: userId, displayName, role, disabled: false, createdAt: clock.now() }
      await em.insert(User, user)
      return user
    }
  }
}

function check({ userId, displayName, role }: NewUser): NewUser {
  if (userId.startsWith('_') || userId === 'me')
    throw new Fault(reservedUserId, 'user_id: "me" and names with a leading _ are reserved; choose another')
  if (!/^[a-z][a-z0-9_-]{0,31}$/.test(userId))
    throw new Fault(invalidUserId, 'user_id is 1 to 32 of a-z, 0-9, _ and -, and begins with a letter')
  return { userId, displayName: normalizeDisplayName(displayName), role }
}

/** Returns the trimmed name, or throws. Control and direction characters could forge the output of a table. */
export function normalizeDisplayName(displayName: string): string {
  const name = displayName.trim()
  const { length } = [...name]
  if (length < 1 || length > 64 || controlChars.test(name) || !name.isWellFormed())
    throw new Fault(
      invalidDisplayName,
      'display_name is 1 to 64 characters, without control or direction marks'
    )
  return name
}
