import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, invalidSchema, limitReached, notOwner } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Users } from '../users/exports.ts'
import type { CredentialRow, IssueBody, IssuedCredential } from './schema.ts'

const credentialNotFound = defineCode('credential_not_found', 404, 8)

export const codes = [credentialNotFound]

const liveMax = 100 // that still open something, of one user
const deadKept = 100 // revoked or expired, of one user: history, not a leak

interface Deps extends Kernel {
  readonly users: Users
}
type Caller = Pick<Call, 'principal' | 'change'>

export type Credentials = ReturnType<typeof openCredentials>

export function openCredentials({ store, clock, users }: Deps) {
  /** Judged on the path, before anything is looked up: a stranger learns nothing. */
  async function owned<T>(principal: Principal, userId: string, work: () => Promise<T>): Promise<T> {
    if (principal.role !== 'superadmin' && principal.userId !== userId)
      throw new Fault(notOwner, 'these are the credentials of another user')
    await store.read(em => users.get(em, userId))
    return work()
  }

  const issue = (userId: string, body: IssueBody, { principal, change }: Caller): Promise<IssuedCredential> =>
    owned(principal, userId, async () => {
      const { label = '', expires_in_secs: expiresInSecs } = body
      refuseLabel(label)
      const token = newToken()
      const now = clock.now()
      const credential: Credential = {
        id: newId(),
        userId,
        label,
        tokenHash: hashOf(token),
        createdAt: now,
        lastUsedAt: null,
        expiresAt: expiresInSecs === undefined ? null : now + expiresInSecs * 1000,
        revokedAt: null
      }
      await change({ kind: 'credential', id: credential.id }, async em => {
        await users.get(em, userId) // may have gone since
        await makeRoom(em, userId, now)
        await em.insert(Credential, credential)
      })
      return issued(credential, token)
    })

  /** The same credential under a new token, for as long again as it was made for. */
  const rotate = (userId: string, id: string, { principal, change }: Caller): Promise<IssuedCredential> =>
    owned(principal, userId, () =>
      change({ kind: 'credential', id }, async em => {
        const before = await find(em, userId, id)
        const now = clock.now()
        if (before.revokedAt || (before.expiresAt ?? Infinity) <= now)
          throw new Fault(credentialNotFound, `credential ${id} is revoked or has expired; issue a new one`)
        const token = newToken()
        const after = {
          tokenHash: hashOf(token),
          createdAt: now,
          lastUsedAt: null,
          expiresAt: before.expiresAt ? now + before.expiresAt - before.createdAt : null
        }
        await em.nativeUpdate(Credential, { id }, after)
        return issued({ ...before, ...after }, token)
      })
    )

  const revoke = (userId: string, id: string, { principal, change }: Caller): Promise<void> =>
    owned(principal, userId, () =>
      change({ kind: 'credential', id }, async em => {
        await find(em, userId, id)
        await em.nativeUpdate(Credential, { id, revokedAt: null }, { revokedAt: clock.now() })
      })
    )

  const list = (userId: string, principal: Principal): Promise<PagedRows<CredentialRow>> =>
    owned(principal, userId, async () => ({
      async page(after, take, em) {
        const where = { userId, ...(after !== null && { id: { $gt: after } }) }
        const found = await em.find(Credential, where, { orderBy: { id: 'asc' }, limit: take })
        return found.map(credential => ({ key: credential.id, row: rowOf(credential) }))
      }
    }))

  return { issue, rotate, revoke, list }
}

async function find(em: EntityManager, userId: string, id: string): Promise<Credential> {
  const credential = await em.findOne(Credential, { id, userId })
  if (!credential) throw new Fault(credentialNotFound, `user ${userId} has no credential ${id}`)
  return credential
}

/** Opens something still. */
export const isLive = (now: number) => ({
  revokedAt: null,
  $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }]
})

async function makeRoom(em: EntityManager, userId: string, now: number): Promise<void> {
  const isDead = { $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: now } }] }
  const dead = await em.find(
    Credential,
    { userId, ...isDead },
    { orderBy: { id: 'desc' }, offset: deadKept - 1, limit: deadKept, fields: ['id'] }
  )
  await em.nativeDelete(Credential, { id: dead.map(({ id }) => id) })
  const live = await em.count(Credential, { userId, ...isLive(now) })
  if (live >= liveMax)
    throw new Fault(limitReached, `a user has at most ${liveMax} credentials; revoke one first`, {
      details: { limit: liveMax }
    })
}

function refuseLabel(label: string): void {
  const bytes = Buffer.byteLength(label)
  if (bytes > 255)
    throw new Fault(invalidSchema, `/label has ${bytes} bytes; at most 255`, {
      details: { field: '/label', reason: 'maxBytes' }
    })
}

const issued = ({ id, userId, label, createdAt }: Credential, token: string): IssuedCredential => ({
  credential_id: id,
  user_id: userId,
  token,
  label,
  created_at: timestamp(createdAt)
})

const rowOf = (credential: Credential): CredentialRow => ({
  credential_id: credential.id,
  user_id: credential.userId,
  label: credential.label,
  created_at: timestamp(credential.createdAt),
  last_used_at: orNull(credential.lastUsedAt),
  expires_at: orNull(credential.expiresAt),
  revoked_at: orNull(credential.revokedAt)
})

const orNull = (ms: number | null | undefined): string | null => (ms ? timestamp(ms) : null)
