// Finds the user of verified claims, by issuer and sub only, or creates one.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { RecordAs } from '../../http/exports.ts'
import { invalidDisplayName, type Users } from '../../users/exports.ts'
import { userConflict, userUnknown } from '../codes.ts'
import type { Identities } from '../identities.ts'
import type { Claims } from '../provider/provider-client.ts'
import type { Provider } from '../provider/provider-config.ts'
import type { GroupRights } from './group-rights.ts'
import { actor, requireGroups } from './groups.ts'

/** Names of built-in actors, and `me`. */
const reserved = ['me', '_operator', '_superadmin', '_system', actor, '_upgrade']

export interface UserOfClaims {
  /** Returns the user_id. Throws the refusals of a sign-in. `em` is the transaction of the sign-in. */
  find(em: EntityManager, provider: Provider, claims: Claims): Promise<string>
}

interface Deps extends Kernel {
  readonly users: Users
  readonly identities: Identities
  readonly recordAs: RecordAs
  readonly groupRights: GroupRights
}

export function openUserOfClaims({ users, identities, recordAs, groupRights }: Deps): UserOfClaims {
  async function create(em: EntityManager, provider: Provider, claims: Claims): Promise<string> {
    const userId = newUserId(claims[provider.user_claim])
    if (await users.find(em, userId))
      throw new Fault(userConflict, `the user_id ${userId} is taken; a superadmin can add the identity to it`)
    await users.insert(em, { userId, displayName: displayNameIn(claims, userId, users), role: 'user' })
    await recordAs(em, { actor, action: 'user.create', resource: { kind: 'user', id: userId } })
    const { iss, sub } = claims
    const identity = await identities.insert(em, { userId, provider: provider.name, iss, sub })
    await recordAs(em, { actor, action: 'identity.create', resource: { kind: 'identity', id: identity.id } })
    return userId
  }

  async function findOrCreate(em: EntityManager, provider: Provider, claims: Claims): Promise<string> {
    const identity = await identities.find(em, claims)
    if (identity) {
      await identities.touch(em, identity.id, provider.name)
      return identity.userId
    }
    if (!provider.make_users)
      throw new Fault(userUnknown, 'no user has this identity; a superadmin can add it')
    return create(em, provider, claims)
  }

  return {
    async find(em, provider, claims) {
      const groups = requireGroups(provider, claims)
      const userId = await findOrCreate(em, provider, claims)
      if (groups) await groupRights.apply(em, await users.get(em, userId), groups, provider)
      return userId
    }
  }
}

/** Throws `oidc_user_conflict` for a claim that gives no user_id. */
function newUserId(claim: unknown): string {
  if (typeof claim !== 'string' || reserved.includes(claim)) throw unusable()
  const id = claim
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 32)
  if (id === '' || reserved.includes(id)) throw unusable()
  return id
}

const unusable = (): Fault =>
  new Fault(userConflict, 'user_claim has no name from which a user_id can be made, or a reserved one')

/** Returns the claim `name`, or the user_id if no user can have that name. */
function displayNameIn({ name }: Claims, userId: string, users: Users): string {
  const wanted = typeof name === 'string' ? [...name.trim()].slice(0, 64).join('') : userId
  try {
    return users.check({ userId, displayName: wanted, role: 'user' }).displayName
  } catch (error) {
    if (error instanceof Fault && error.errorCode === invalidDisplayName) return userId
    throw error
  }
}
