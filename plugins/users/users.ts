import type { EntityManager } from '@mikro-orm/sql'
import { Fault, userNotFound } from '../../kernel/base/errors.ts'
import { controlChars } from '../../kernel/base/log.ts'
import { User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Act } from '../http/exports.ts'
import { invalidDisplayName, invalidUserId, reservedUserId, userAlreadyExists } from './codes.ts'
import type { NewUser, Users, Verified } from './exports.ts'

interface Deps extends Pick<Kernel, 'clock'> {
  readonly act: Act
}

export function openUsers({ clock, act }: Deps): Users {
  const find = (em: EntityManager, userId: string): Promise<User | null> => em.findOne(User, { id: userId })

  async function insert(em: EntityManager, newUser: NewUser): Promise<User> {
    const { userId, displayName, role, kind } = check(newUser)
    if (await find(em, userId))
      throw new Fault(userAlreadyExists, `user_id ${userId} is taken; choose another`)
    const user: User = { id: userId, displayName, role, disabled: false, kind, createdAt: clock.now() }
    await em.insert(User, user)
    return user
  }

  const make = ({
    userId,
    makes: { by, role }
  }: Required<Pick<Verified, 'userId' | 'makes'>>): Promise<void> =>
    act(by, 'user.create', ({ change }) =>
      change({ kind: 'user', id: userId }, async em => {
        if (await find(em, userId)) return // a concurrent first request created the user
        await insert(em, { userId, displayName: userId, role })
      })
    )

  return {
    find,
    check,

    async get(em, userId) {
      const user = await find(em, userId)
      if (!user) throw new Fault(userNotFound, `no user ${userId}`)
      return user
    },

    insert,

    async caller(em, { userId, method, requires, makes }) {
      const user = await find(em, userId)
      if (user?.disabled || user?.kind === 'service' || !(user || makes)) return null
      return {
        principal: { userId, role: user?.role ?? makes?.role ?? 'user', method },
        ...(requires && { requires }),
        ...(!user && makes && { admit: () => make({ userId, makes }) })
      }
    }
  }
}

function check({ userId, displayName, role, kind = 'user' }: NewUser): Required<NewUser> {
  checkUserId(userId)
  return { userId, displayName: normalizeDisplayName(displayName), role, kind }
}

/** Throws if no user can have this id. */
export function checkUserId(userId: string): void {
  if (userId.startsWith('_') || userId === 'me')
    throw new Fault(reservedUserId, 'user_id: "me" and names with a leading _ are reserved; choose another')
  if (!/^[a-z][a-z0-9_-]{0,31}$/.test(userId))
    throw new Fault(
      invalidUserId,
      'user_id must be 1 to 32 characters of a-z, 0-9, _ and -, and begin with a letter'
    )
}

/** Returns the trimmed name, or throws. Control and direction characters could forge the output of a table. */
export function normalizeDisplayName(displayName: string): string {
  const name = displayName.trim()
  const { length } = [...name]
  if (length < 1 || length > 64 || controlChars.test(name) || !name.isWellFormed())
    throw new Fault(
      invalidDisplayName,
      'display_name must be 1 to 64 characters, without control or direction marks'
    )
  return name
}
