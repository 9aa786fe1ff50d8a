import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, notOwner } from '../../kernel/base/errors.ts'
import type { Rows } from '../../kernel/http/listing.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { creatingSlot, disablingSlot, type Removed, removingSlot, rowSlot, type Save } from './exports.ts'
import type { CreateBody, RemovedUser, UpdateBody, UserRow } from './schema.ts'
import { checkDisplayName, type Users } from './users.ts'

export const invalidRole = defineCode('invalid_role', 422, 3)
const lastSuperadmin = defineCode('last_superadmin', 409, 2)
const cannotRemoveSelf = defineCode('cannot_remove_self', 409, 2)

export const codes = [invalidRole, lastSuperadmin, cannotRemoveSelf]

interface Deps extends Kernel {
  readonly users: Users
}
type Change = Pick<Call, 'principal' | 'change'>

export type Roster = ReturnType<typeof openRoster>

/** The users, as superadmins keep them. */
export function openRoster({ store, filled, users }: Deps) {
  async function rowsOf(found: readonly User[], em: EntityManager): Promise<UserRow[]> {
    const ids = found.map(({ id }) => id)
    const columns: ((id: string) => readonly [string, unknown])[] = []
    for (const { value: field } of filled(rowSlot)) {
      const values = await field.load(ids, em)
      columns.push(id => [field.key, values.get(id) ?? field.otherwise])
    }
    return found.map(user => ({ ...rowOf(user), ...Object.fromEntries(columns.map(of => of(user.id))) }))
  }

  async function shown(user: User, em: EntityManager): Promise<UserRow> {
    const [row] = await rowsOf([user], em)
    if (!row) throw new TypeError(`user ${user.id} has no row`)
    return row
  }

  const list = (): Rows<UserRow> => ({
    async page(after, take, em) {
      const where = after === null ? {} : { id: { $gt: after } }
      const found = await em.find(User, where, { orderBy: { id: 'asc' }, limit: take })
      return (await rowsOf(found, em)).map(row => ({ key: row.user_id, row }))
    }
  })

  /** Judged on the path, before anything is looked up: a stranger learns nothing. */
  async function read(id: string, { role, userId }: Principal): Promise<UserRow> {
    if (role !== 'superadmin' && userId !== id) throw new Fault(notOwner, 'this is another user')
    return store.read(async em => shown(await users.get(em, id), em))
  }

  async function create(body: CreateBody, { change }: Change): Promise<UserRow> {
    const { user_id: userId, display_name: displayName, role = 'user' } = body
    const user = users.check({ userId, displayName, role })
    const saves: Save[] = []
    for (const { value } of filled(creatingSlot)) saves.push(await value.prepare(body))
    return change({ kind: 'user', id: userId }, async em => {
      const made = await users.insert(em, user)
      for (const save of saves) await save(userId, em)
      return shown(made, em)
    })
  }

  async function update(id: string, body: UpdateBody, { principal, change }: Change): Promise<UserRow> {
    const displayName = body.display_name === undefined ? null : checkDisplayName(body.display_name)
    return change({ kind: 'user', id }, async em => {
      const before = await users.get(em, id)
      const after = {
        displayName: displayName ?? before.displayName,
        role: body.role ?? before.role,
        disabled: body.disabled ?? before.disabled
      }
      if (isAdmin(before) && !isAdmin(after)) await refuseLoss(before, principal, em)
      await em.nativeUpdate(User, { id }, after)
      const user: User = { id, createdAt: before.createdAt, ...after }
      if (user.disabled && !before.disabled)
        for (const { value: disable } of filled(disablingSlot)) await disable(user, em)
      return shown(user, em)
    })
  }

  async function remove(id: string, { principal, change }: Change): Promise<RemovedUser> {
    const { reply, afters } = await change({ kind: 'user', id }, async em => {
      const user = await users.get(em, id)
      await refuseLoss(user, principal, em)
      const removed: (Removed & { readonly key: string | undefined })[] = []
      for (const { value } of filled(removingSlot))
        removed.push({ key: value.key, ...(await value.remove(user, em)) })
      await em.nativeDelete(User, { id })
      const named = removed.flatMap(({ key, ids }) => (key === undefined ? [] : [[key, ids] as const]))
      return {
        reply: { user_id: id, ...Object.fromEntries(named) },
        afters: removed.map(({ after }) => after)
      }
    })
    for (const after of afters) after?.()
    return reply
  }

  return { list, read, create, update, remove }
}

const isAdmin = ({ role, disabled }: Pick<User, 'role' | 'disabled'>): boolean =>
  role === 'superadmin' && !disabled

/** In the transaction of the change: of two that would leave nobody, the second sees the first. */
async function refuseLoss(user: User, { userId }: Principal, em: EntityManager): Promise<void> {
  if (user.id === userId)
    throw new Fault(
      cannotRemoveSelf,
      'nobody demotes, disables or deletes themselves; ask another superadmin'
    )
  if (isAdmin(user) && (await em.count(User, { role: 'superadmin', disabled: false })) === 1)
    throw new Fault(lastSuperadmin, `${user.id} is the last enabled superadmin; make another one first`)
}

const rowOf = ({ id, displayName, role, disabled, createdAt }: User) => ({
  user_id: id,
  display_name: displayName,
  role,
  disabled,
  created_at: timestamp(createdAt)
})
