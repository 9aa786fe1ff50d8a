import type { EntityManager } from '@mikro-orm/sql'
import { User } from '../../kernel/identity/entities.ts'
import { superadmins } from '../../kernel/identity/identity.ts'
import { otherSignInSlot } from '../auth/exports.ts'
import { grantSourceSlot } from '../grants/exports.ts'
import { type Removal, removalSlot, roleSourceSlot } from '../users/exports.ts'
import { Identity } from './entities.ts'
import type { Identities } from './identities.ts'
import type { Providers } from './provider/providers.ts'
import { sourceOf } from './sign-in/groups.ts'

const removal = ({ identities }: { readonly identities: Identities }): Removal => ({
  async remove({ id }, em) {
    await identities.removeAll(em, id)
    return { ids: [] }
  }
})

/** True if a superadmin has an identity at a provider of the configuration. */
const otherSignIn =
  ({ providers }: { readonly providers: Providers }) =>
  async (em: EntityManager): Promise<boolean> => {
    const found = await em.find(User, superadmins, { fields: ['id'] })
    const names = providers.all().map(({ name }) => name)
    const userId = { $in: found.map(({ id }) => id) }
    return (await em.count(Identity, { userId, provider: { $in: names } })) > 0
  }

interface Deps {
  readonly identities: Identities
  readonly providers: Providers
}

/** Returns a function that is true for the source of a provider that gives `what`. */
const isSource =
  (what: 'roles' | 'grants') =>
  ({ providers }: Deps) =>
  (source: string): boolean =>
    providers.all().some(provider => provider[what] !== undefined && sourceOf(provider.name) === source)

export const userFills = [
  otherSignInSlot.fillWith((deps: Deps) => otherSignIn(deps)),
  roleSourceSlot.fillWith(isSource('roles')),
  grantSourceSlot.fillWith(isSource('grants')),
  removalSlot.fillWith((deps: Deps) => removal(deps))
]
