// Grants of users and clients: their number in a user's row, their deletion, and cleanup at start and after a restore.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { removingSlot } from '../clients/exports.ts'
import { recordFields } from '../http/exports.ts'
import { type Removal, type RowField, removalSlot, rowFieldSlot } from '../users/exports.ts'
import { Grant } from './entities.ts'
import { fieldsIn } from './schema.ts'

const grantCount: RowField = {
  key: 'grant_count',
  schema: Type.Integer({ minimum: 0, description: 'Number of grants of the user.' }),
  defaultValue: 0,
  async load(userIds, em) {
    const where = { userId: { $in: [...userIds] } }
    return new Map(Object.entries(await em.countBy(Grant, 'userId', { where })))
  }
}

const openUserRemoval = ({ filled }: Pick<Kernel, 'filled'>): Removal => ({
  key: 'removed_grant_ids',
  remove: async ({ id: userId }, em) => ({ ids: await deleteGrants({ userId }, filled, em) })
})

/** Deletes grants and the fields that other plugins store for them; returns their ids. */
export async function deleteGrants(
  where: FilterQuery<Grant>,
  filled: SlotReader,
  em: EntityManager
): Promise<string[]> {
  const ids = (await em.find(Grant, where, { orderBy: { id: 'asc' }, fields: ['id'] })).map(({ id }) => id)
  await recordFields.remove(fieldsIn(filled), ids, em)
  await em.nativeDelete(Grant, { id: { $in: ids } })
  if (ids.length > 0) noteRevoked(em, 'delete from grants where id in (?)', [ids])
  return ids
}

/** Removes deleted clients from the entries of exit grants, and deletes the grants that have no entry left. */
async function removeEntries(
  isDeleted: (clientId: string) => boolean,
  filled: SlotReader,
  em: EntityManager
): Promise<void> {
  const empty: string[] = []
  for (const { id, entries } of await em.find(Grant, { use: 'exit' })) {
    const left = entries?.filter(entry => !isDeleted(entry))
    if (left?.length === 0) empty.push(id)
    else if (left && left.length !== entries?.length) await em.nativeUpdate(Grant, { id }, { entries: left })
  }
  await deleteGrants({ id: { $in: empty } }, filled, em)
}

/** Deletes grants of users and clients deleted while this plugin was off, even if a new user has the same id. */
export async function sweepOrphans(filled: SlotReader, em: EntityManager): Promise<void> {
  const users = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
  const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
  const orphaned = (await em.find(Grant, {})).filter(
    ({ userId, clientId, createdAt }) =>
      (users.get(userId) ?? Number.POSITIVE_INFINITY) > createdAt ||
      (clientId != null && !clients.has(clientId))
  )
  await deleteGrants({ id: { $in: orphaned.map(({ id }) => id) } }, filled, em)
  await removeEntries(id => !clients.has(id), filled, em)
}

const deletedGrants = revocationSlot.fill({
  table: 'grants',
  title: 'deleted grants of',
  sql: `delete from grants where not exists (select 1 from old.grants o where o.id = grants.id)
    returning user_id as name`
})

export const userFills = [
  removingSlot.fillWith(({ filled }: Pick<Kernel, 'filled'>) => async ({ id: clientId }, em) => {
    await deleteGrants({ clientId }, filled, em)
    await removeEntries(id => id === clientId, filled, em)
  }),
  rowFieldSlot.fill(grantCount),
  removalSlot.fillWith(openUserRemoval),
  deletedGrants
]
