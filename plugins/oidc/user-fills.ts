import type { EntityManager } from '@mikro-orm/sql'
import { User } from '../../kernel/identity/entities.ts'
import { superadmins } from '../../kernel/identity/identity.ts'
import type { Removal } from '../users/exports.ts'
import { Identity } from './entities.ts'
import type { Identities } from './identities.ts'
import type { Providers } from './provider/providers.ts'

export const removal = ({ identities }: { readonly identities: Identities }): Removal => ({
  async remove({ id }, em) {
    await identities.removeAll(em, id)
    return { ids: [] }
  }
})

/** True if a superadmin has an identity at a provider of the configuration. */
export const otherSignIn =
  ({ providers }: { readonly providers: Providers }) =>
  async (em: EntityManager): Promise<boolean> => {
    const found = await em.find(User, superadmins, { fields: ['id'] })
    const names = providers.all().map(({ name }) => name)
    const userId = { $in: found.map(({ id }) => id) }
    return (await em.count(Identity, { userId, provider: { $in: names } })) > 0
  }
