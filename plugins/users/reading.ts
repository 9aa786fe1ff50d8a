import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../kernel/base/errors.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { rowFieldSlot, type Users } from './exports.ts'
import type { Me, UserRow } from './schema.ts'

interface Deps extends Kernel {
  readonly users: Users
}

export function openReading({ store, filled, users }: Deps) {
  async function readSelf({ userId, role }: Principal): Promise<Me> {
    if (userId === operatorId) return { user_id: operatorId, role, display_name: 'operator token' }
    const user = await store.read(em => users.get(em, userId))
    return { user_id: user.id, role: user.role, display_name: user.displayName }
  }

  const list = (): PagedRows<UserRow> => ({
    async page(after, take, em) {
      const where = after === null ? {} : { id: { $gt: after } }
      const page = await em.find(User, where, { orderBy: { id: 'asc' }, limit: take })
      return (await userRows(page, filled, em)).map(row => ({ key: row.user_id, row }))
    }
  })

  /** Compares the caller with the path before any look-up: the refusal does not show whether the user exists. */
  async function read(id: string, { role, userId }: Principal): Promise<UserRow> {
    if (role !== 'superadmin' && userId !== id) throw new Fault(notOwner, 'this is another user')
    return store.read(async em => userRow(await users.get(em, id), filled, em))
  }

  return { readSelf, list, read }
}

/** Returns the users as the API shows them, with the fields that other plugins add. */
async function userRows(users: readonly User[], filled: SlotReader, em: EntityManager): Promise<UserRow[]> {
  const ids = users.map(({ id }) => id)
  const fields: ((id: string) => readonly [string, unknown])[] = []
  for (const { value: field } of filled(rowFieldSlot)) {
    const values = await field.load(ids, em)
    fields.push(id => [field.key, values.get(id) ?? field.defaultValue])
  }
  return users.map(({ id, displayName, role, disabled, createdAt }) => ({
    user_id: id,
    display_name: displayName,
    role,
    disabled,
    created_at: timestamp(createdAt),
    ...Object.fromEntries(fields.map(field => field(id)))
  }))
}

export async function userRow(user: User, filled: SlotReader, em: EntityManager): Promise<UserRow> {
  const [row] = await userRows([user], filled, em)
  if (!row) throw new TypeError(`user ${user.id} has no row`)
  return row
}
