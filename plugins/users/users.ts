import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, userNotFound } from '../../kernel/base/errors.ts'
import { unseen } from '../../kernel/base/log.ts'
import type { Principal, Role } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'

const invalidUserId = defineCode('invalid_user_id', 422, 3)
const reservedUserId = defineCode('reserved_user_id', 422, 3)
const invalidDisplayName = defineCode('invalid_display_name', 422, 3)
const userAlreadyExists = defineCode('user_already_exists', 409, 2)

export const codes = [invalidUserId, reservedUserId, invalidDisplayName, userAlreadyExists]

export interface NewUser {
  readonly userId: string
  readonly displayName: string
  readonly role: Role
}

export interface Me {
  readonly user_id: string
  readonly role: Role
  readonly display_name: string
}

export type Users = ReturnType<typeof openUsers>

export function openUsers({ store, clock }: Kernel) {
  const find = (em: EntityManager, userId: string): Promise<User | null> => em.findOne(User, { id: userId })

  /** Also throws for `_operator`, which is no user. */
  async function get(em: EntityManager, userId: string): Promise<User> {
    const user = await find(em, userId)
    if (!user) throw new Fault(userNotFound, `no user ${userId}`)
    return user
  }

  /** What `insert` would keep, or its refusal: for a caller with dear work to do before. */
  function check({ userId, displayName, role }: NewUser): NewUser {
    refuseUserId(userId)
    return { userId, displayName: checkDisplayName(displayName), role }
  }

  async function insert(em: EntityManager, given: NewUser): Promise<User> {
    const { userId, displayName, role } = check(given)
    if (await find(em, userId))
      throw new Fault(userAlreadyExists, `user_id ${userId} is taken; choose another`)
    const user: User = { id: userId, displayName, role, disabled: false, createdAt: clock.now() }
    await em.insert(User, user)
    return user
  }

  async function me({ userId, role }: Principal): Promise<Me> {
    if (userId === operatorId) return { user_id: operatorId, role, display_name: 'operator token' }
    const user = await store.read(em => get(em, userId))
    return { user_id: user.id, role: user.role, display_name: user.displayName }
  }

  return { find, get, check, insert, me }
}

function refuseUserId(userId: string): void {
  if (userId.startsWith('_') || userId === 'me')
    throw new Fault(reservedUserId, 'user_id: a leading _ and "me" belong to the server; choose another')
  if (!/^[a-z][a-z0-9_-]{0,31}$/.test(userId))
    throw new Fault(invalidUserId, 'user_id is 1 to 32 of a-z, 0-9, _ and -, and begins with a letter')
}

// Control characters, and those that turn the direction of writing: they would forge what a table shows.

export function checkDisplayName(given: string): string {
  const name = given.trim()
  const { length } = [...name]
  if (length < 1 || length > 64 || unseen.test(name) || !name.isWellFormed())
    throw new Fault(
      invalidDisplayName,
      'display_name is 1 to 64 characters, without control or direction marks'
    )
  return name
}
