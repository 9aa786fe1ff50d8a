import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import { Fault, notOwner } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SignIn } from '../auth/exports.ts'
import { managesUsers, seesAll } from '../http/exports.ts'
import { refuseServiceAccount, type Users } from '../users/exports.ts'
import type { Identity } from './entities.ts'
import type { Identities } from './identities.ts'
import type { Providers } from './provider/providers.ts'
import type { IdentityBody, IdentityRow } from './schema.ts'
import type { GroupRights } from './sign-in/group-rights.ts'

type Change = Pick<Call, 'principal' | 'change'>

/** Lists, adds and removes identities for the routes. */
export interface IdentityDirectory {
  /** Throws `not_owner` before any lookup, so that the refusal does not show whether the user exists. */
  list(userId: string, caller: Principal): Promise<IdentityRow[]>
  /** Throws `not_found` for an unknown provider, `service_account`, `identity_taken` or `limit_reached`. */
  create(userId: string, body: IdentityBody, call: Change): Promise<IdentityRow>
  /** Throws `not_owner`, `user_not_found` or `identity_not_found`. */
  remove(userId: string, id: string, call: Change): Promise<void>
}

interface Deps extends Pick<Kernel, 'store'> {
  readonly users: Users
  readonly identities: Identities
  readonly providers: Providers
  readonly groupRights: GroupRights
  readonly signIn: SignIn
}

export function openIdentityDirectory({
  store,
  users,
  identities,
  providers,
  groupRights,
  signIn
}: Deps): IdentityDirectory {
  function requireAccess(userId: string, caller: Principal, isAllowed: boolean): void {
    if (caller.userId !== userId && !isAllowed)
      throw new Fault(notOwner, 'these are the identities of another user')
  }

  return {
    list(userId, caller) {
      requireAccess(userId, caller, seesAll(caller))
      return store.read(async em => {
        await users.get(em, userId)
        return (await identities.ofUser(em, userId)).map(toRow)
      })
    },

    create(userId, { provider: name, sub }, { change }) {
      return change(
        ({ identity_id: id }: IdentityRow) => ({ kind: 'identity', id }),
        async em => {
          refuseServiceAccount(await users.get(em, userId), userId)
          const { issuer: iss } = providers.get(name)
          return toRow(await identities.insert(em, { userId, provider: name, iss, sub }))
        }
      )
    },

    async remove(userId, id, { principal, change }) {
      requireAccess(userId, principal, managesUsers(principal))
      await change({ kind: 'identity', id }, async em => {
        const user = await users.get(em, userId)
        const { provider } = await identities.remove(em, userId, id)
        const left = await identities.ofUser(em, userId)
        if (left.some(one => one.provider === provider)) return
        await groupRights.end(em, user, provider)
        if (principal.userId !== userId) await signIn.endOfProvider(em, { provider, userId, which: 'all' })
      })
    }
  }
}

const toRow = ({ id, provider, issuer, sub, createdAt, lastUsedAt }: Identity): IdentityRow => ({
  identity_id: id,
  provider,
  issuer,
  sub,
  created_at: timestamp(createdAt),
  last_used_at: timestampOrNull(lastUsedAt)
})
