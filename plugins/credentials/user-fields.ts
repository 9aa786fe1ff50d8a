// Adds a field to the rows of users, and removes the tokens of a removed user.
import { Type } from 'typebox'
import { latest } from '../../kernel/base/clock.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Removal, RowField } from '../users/exports.ts'
import { activeAt } from './credentials.ts'

export const credentialCount = ({ clock }: Pick<Kernel, 'clock'>): RowField => ({
  key: 'credential_count',
  schema: Type.Integer({ minimum: 0, description: 'Tokens that are neither revoked nor expired.' }),
  defaultValue: 0,
  async load(userIds, em) {
    const where = { userId: { $in: [...userIds] }, ...activeAt(latest(clock)) }
    return new Map(Object.entries(await em.countBy(Credential, 'userId', { where })))
  }
})

export const removal: Removal = {
  key: 'removed_credential_ids',
  async remove({ id: userId }, em) {
    const found = await em.find(Credential, { userId }, { orderBy: { id: 'asc' }, fields: ['id'] })
    await em.nativeDelete(Credential, { userId })
    return { ids: found.map(({ id }) => id) }
  }
}
