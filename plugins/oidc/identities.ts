import type { EntityManager } from '@mikro-orm/sql'
import { Fault, limitReached } from '../../kernel/base/errors.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { identityNotFound, identityTaken } from './codes.ts'
import { Identity } from './entities.ts'

const maxPerUser = 16

/** A user of a provider. Only these two together name somebody: names and mail addresses change hands. */
interface Subject {
  readonly iss: string
  readonly sub: string
}

interface NewIdentity extends Subject {
  readonly userId: string
  readonly provider: string
}

/** Which users of providers are which users. `em` is the transaction of the change. */
export interface Identities {
  find(em: EntityManager, subject: Subject): Promise<Identity | null>
  /** Returns the identities of a user, the oldest first. */
  ofUser(em: EntityManager, userId: string): Promise<Identity[]>
  /** Throws `identity_taken`, or `limit_reached` for more than 16 of a user. */
  insert(em: EntityManager, identity: NewIdentity): Promise<Identity>
  /** Stores that the identity was used, at the provider with this name now. */
  touch(em: EntityManager, id: string, provider: string): Promise<void>
  /** Returns the removed identity. Throws `identity_not_found`. */
  remove(em: EntityManager, userId: string, id: string): Promise<Identity>
  /** Removes all identities of a deleted user. */
  removeAll(em: EntityManager, userId: string): Promise<void>
}

export function openIdentities({ clock }: Pick<Kernel, 'clock'>): Identities {
  const find = (em: EntityManager, subject: Subject): Promise<Identity | null> =>
    em.findOne(Identity, { subjectHash: subjectHash(subject) })

  return {
    find,

    ofUser: (em, userId) => em.find(Identity, { userId }, { orderBy: { id: 'asc' } }),

    async insert(em, { userId, provider, iss: issuer, sub }) {
      const other = await find(em, { iss: issuer, sub })
      if (other)
        throw new Fault(identityTaken, 'this identity belongs to a user already; remove it there first')
      if ((await em.count(Identity, { userId })) >= maxPerUser)
        throw new Fault(limitReached, `${userId} has ${maxPerUser} identities; remove one first`)
      const now = clock.now()
      const created: Identity = {
        id: newId(now),
        subjectHash: subjectHash({ iss: issuer, sub }),
        userId,
        provider,
        issuer,
        sub,
        createdAt: now,
        lastUsedAt: null
      }
      await em.insert(Identity, created)
      return created
    },

    async touch(em, id, provider) {
      await em.nativeUpdate(Identity, { id }, { provider, lastUsedAt: clock.now() })
    },

    async remove(em, userId, id) {
      const found = await em.findOne(Identity, { id, userId })
      if (!found) throw new Fault(identityNotFound, `${userId} has no identity ${id}`)
      noteRevoked(em, 'delete from oidc_identity where id = ?', [id])
      await em.nativeDelete(Identity, { id })
      return found
    },

    async removeAll(em, userId) {
      noteRevoked(em, 'delete from oidc_identity where user_id = ?', [userId])
      await em.nativeDelete(Identity, { userId })
    }
  }
}

/** The configuration and the tokens of a provider may differ in a slash at the end of the issuer. */
const subjectHash = ({ iss, sub }: Subject): string => hashOf(`${URL.parse(iss)?.href ?? iss}\n${sub}`)
