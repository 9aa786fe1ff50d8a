// Grants in the row of a user, and their removal with the user.
import { Type } from 'typebox'
import type { Removal, RowField } from '../users/exports.ts'
import { Grant } from './entities.ts'

export const grantCount: RowField = {
  key: 'grant_count',
  schema: Type.Integer({ minimum: 0 }),
  defaultValue: 0,
  async load(userIds, em) {
    const where = { userId: { $in: [...userIds] } }
    return new Map(Object.entries(await em.countBy(Grant, 'userId', { where })))
  }
}

export const removal: Removal = {
  key: 'removed_grant_ids',
  async remove({ id: userId }, em) {
    const found = await em.find(Grant, { userId }, { orderBy: { id: 'asc' }, fields: ['id'] })
    await em.nativeDelete(Grant, { userId })
    return { ids: found.map(({ id }) => id) }
  }
}
