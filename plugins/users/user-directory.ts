import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId, superadmins } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { withoutReply } from '../../kernel/store/without-reply.ts'
import { listFilterSlots, listFilters, type PagedRows, recordFields, seesAll } from '../http/exports.ts'
import { cannotRemoveSelf, lastSuperadmin } from './codes.ts'
import type { Removed, Save, Users } from './exports.ts'
import * as slots from './exports.ts'
import { noteRevokedRights } from './revoked-rights.ts'
import { forget, loadSources, requireOwnRole } from './role-sources.ts'
import {
  type CreateBody,
  fieldsIn,
  type Me,
  type RemovedUser,
  type UpdateBody,
  type UserRow
} from './schema.ts'
import { checkUserId, normalizeDisplayName } from './users.ts'

interface Deps extends Kernel {
  readonly users: Users
}
type Change = Pick<Call, 'principal' | 'change'>

interface UserReader {
  /** Returns the caller, also for the operator token. */
  readSelf(caller: Principal): Promise<Me>
  list(query: Readonly<Record<string, unknown>>): PagedRows<UserRow>
  /** Throws `not_owner` before any lookup, so that the refusal does not show whether the user exists. */
  read(id: string, caller: Principal): Promise<UserRow>
}

/** Reads and changes users for the routes. */
export interface UserDirectory extends UserReader {
  create(body: CreateBody, call: Change): Promise<UserRow>
  /** Absent fields keep their values. Refuses to leave no enabled superadmin. */
  update(id: string, body: UpdateBody, call: Change): Promise<UserRow>
  /** Deletes a user and everything that the user owns. Refuses to leave no enabled superadmin. */
  remove(id: string, call: Change): Promise<RemovedUser>
}

export function openUserDirectory(deps: Deps): UserDirectory {
  const { filled, users } = deps

  async function create(body: CreateBody, { change }: Change): Promise<UserRow> {
    const { user_id: userId, display_name: displayName, role = 'user', kind = 'user' } = body
    const user = users.check({ userId, displayName, role, kind })
    const saves: Save[] = []
    for (const { value } of filled(slots.creationSlot)) saves.push(await value.prepare(body, user))
    const values = recordFields.parse(fieldsIn(filled), body)
    return change(resourceWithRow(userId, filled), async em => {
      const inserted = await users.insert(em, user)
      await recordFields.save(fieldsIn(filled), userId, { values, em })
      for (const save of saves) await save(userId, em)
      return userRow(inserted, filled, em)
    })
  }

  async function update(id: string, body: UpdateBody, { principal, change }: Change): Promise<UserRow> {
    const displayName = body.display_name === undefined ? null : normalizeDisplayName(body.display_name)
    return change(resourceWithRow(id, filled), async em => {
      const before = await users.get(em, id)
      const user: User = {
        ...before,
        displayName: displayName ?? before.displayName,
        role: body.role ?? before.role,
        disabled: body.disabled ?? before.disabled
      }
      if (user.role !== before.role) await requireOwnRole(em, id, filled)
      if (isSuperadmin(before) && !isSuperadmin(user)) await requireOtherSuperadmin(before, principal, em)
      await save(user, before, em)
      await recordFields.patch(fieldsIn(filled), id, { body, em })
      if (user.disabled && !before.disabled)
        for (const { value: onDisable } of filled(slots.disableSlot)) await onDisable(user, em)
      if (user.role !== before.role) await forget(em, id)
      if (user.role !== before.role)
        for (const { value: onRole } of filled(slots.roleSlot)) afterCommit(em, await onRole(user, em))
      return userRow(user, filled, em)
    })
  }

  async function remove(id: string, { principal, change }: Change): Promise<RemovedUser> {
    const removed = await change(resourceOf(id, filled), async em => {
      const user = await users.get(em, id)
      await requireOtherSuperadmin(user, principal, em)
      const removed: (Removed & { readonly key: string | undefined })[] = []
      for (const { value } of filled(slots.removalSlot))
        removed.push({ key: value.key, ...(await value.remove(user, em)) })
      await recordFields.remove(fieldsIn(filled), [id], em)
      await forget(em, id)
      await em.nativeDelete(User, { id })
      noteRevokedRights({ ...user, disabled: true }, em)
      return removed
    })
    for (const { afterCommit } of removed) afterCommit?.()
    const lists = removed.flatMap(({ key, ids }) => (key === undefined ? [] : [[key, ids] as const]))
    return { user_id: id, ...Object.fromEntries(lists) }
  }

  return { ...openUserReader(deps), create, update, remove }
}

/** Returns a user of a document with each value as the record would show it. Throws as `create` does. */
export function normalizeEntry(entry: UpdateBody, filled: SlotReader): UpdateBody {
  checkUserId(String(entry['user_id']))
  return {
    ...entry,
    ...(entry.display_name !== undefined && { display_name: normalizeDisplayName(entry.display_name) }),
    ...recordFields.parse(fieldsIn(filled), entry)
  }
}

/** The version covers the fields that a change accepts, not other data that plugins add. */
export const resourceOf = (id: string, filled: SlotReader): Resource => ({
  kind: 'user',
  id,
  async version(em) {
    const [found, fieldsOf] = await Promise.all([
      em.findOne(User, { id }),
      recordFields.load(fieldsIn(filled), [id], em)
    ])
    if (!found) return null
    return [found.displayName, found.role, found.disabled, found.createdAt, ...Object.values(fieldsOf(id))]
  }
})

/** The resource of a change that returns the row: the row contains the version. */
const resourceWithRow = (id: string, filled: SlotReader): Resource => ({
  ...resourceOf(id, filled),
  versionIn: (row: UserRow) => [
    row.display_name,
    row.role,
    row.disabled,
    Date.parse(row.created_at),
    ...fieldsIn(filled).map(({ value: { key } }) => row[key])
  ]
})

async function save(user: User, before: User, em: EntityManager): Promise<void> {
  const { id, displayName, role, disabled } = user
  await em.nativeUpdate(User, { id }, { displayName, role, disabled }, withoutReply(em))
  if (role !== before.role || disabled !== before.disabled) noteRevokedRights(user, em)
}

const isSuperadmin = ({ role, disabled }: Pick<User, 'role' | 'disabled'>): boolean =>
  role === 'superadmin' && !disabled

/** Call it in the transaction of the change, so that one of two changes to the last two superadmins is refused. */
async function requireOtherSuperadmin(user: User, { userId }: Principal, em: EntityManager): Promise<void> {
  if (user.id === userId)
    throw new Fault(cannotRemoveSelf, 'you cannot demote, disable or delete yourself; ask another superadmin')
  if (isSuperadmin(user) && user.kind === 'user' && (await em.count(User, superadmins)) === 1)
    throw new Fault(lastSuperadmin, `${user.id} is the last enabled superadmin; create another one first`)
}

function openUserReader({ store, filled, users }: Deps): UserReader {
  const userOf = store.remembered([User.meta.tableName], (id, em) => users.get(em, id))

  async function readSelf({ userId, role }: Principal): Promise<Me> {
    if (userId === operatorId) return { user_id: operatorId, role, display_name: 'operator token' }
    const user = await userOf(userId)
    return { user_id: user.id, role: user.role, display_name: user.displayName }
  }

  const list = (query: Readonly<Record<string, unknown>>): PagedRows<UserRow> => ({
    async page(after, take, em) {
      const where = { id: { $gt: after }, ...listFilters.where(filled(listFilterSlots.user), query) }
      const page = await em.find(User, where, { orderBy: { id: 'asc' }, limit: take })
      return (await userRows(page, filled, em)).map(row => ({ key: row.user_id, row }))
    }
  })

  async function read(id: string, caller: Principal): Promise<UserRow> {
    if (!seesAll(caller) && caller.userId !== id)
      throw new Fault(notOwner, `your role allows you to read only yourself, not user ${id}`)
    return store.read(async em => userRow(await users.get(em, id), filled, em))
  }

  return { readSelf, list, read }
}

/** Returns the users as the API shows them, including fields that other plugins add. */
async function userRows(users: readonly User[], filled: SlotReader, em: EntityManager): Promise<UserRow[]> {
  const ids = users.map(({ id }) => id)
  const [own, sources, ...fields] = await Promise.all([
    recordFields.load(fieldsIn(filled), ids, em),
    loadSources(ids, filled, em),
    ...filled(slots.rowFieldSlot).map(async ({ value: field }) => {
      const values = await field.load(ids, em)
      return (id: string) => [field.key, values.get(id) ?? field.defaultValue] as const
    })
  ])
  return users.map(({ id, displayName, role, disabled, kind, createdAt }) => ({
    user_id: id,
    display_name: displayName,
    role,
    disabled,
    role_source: sources.get(id) ?? null,
    kind,
    created_at: timestamp(createdAt),
    ...own(id),
    ...Object.fromEntries(fields.map(field => field(id)))
  }))
}

async function userRow(user: User, filled: SlotReader, em: EntityManager): Promise<UserRow> {
  const [row] = await userRows([user], filled, em)
  if (!row) throw new TypeError(`user ${user.id} has no row`)
  return row
}
