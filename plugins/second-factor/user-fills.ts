import { Type } from 'typebox'
import type { Factors } from '../auth/exports.ts'
import type { Removal, RowField } from '../users/exports.ts'
import type { Authenticators } from './authenticators.ts'

export const secondFactors = ({ factors }: { readonly factors: Factors }): RowField => ({
  key: 'second_factors',
  schema: Type.Array(Type.String(), {
    description: 'Second factors with which the user can sign in, such as totp.',
    examples: [['totp']]
  }),
  defaultValue: [],
  load: async (userIds, em) => {
    const found = await factors.load(userIds, em)
    return new Map([...found].map(([userId, names]) => [userId, [...names]]))
  }
})

export const removal = ({ authenticators }: { readonly authenticators: Authenticators }): Removal => ({
  async remove({ id }, em) {
    await authenticators.drop(id, em)
    return { ids: [] }
  }
})
