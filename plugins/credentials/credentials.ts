import type { EntityManager } from '@mikro-orm/sql'
import { latest, timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import { defineCode, Fault, invalidSchema, limitReached, notOwner } from '../../kernel/base/errors.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { managesUsers, seesAll } from '../http/exports.ts'
import type { Users } from '../users/exports.ts'
import type { CredentialRow, IssueBody, IssuedCredential } from './schema.ts'

export const credentialNotFound = defineCode('credential_not_found', 404, 8)

const maxActive = 100 // of one user
const maxInactive = 100 // revoked or expired, of one user; the oldest are deleted

type Caller = Pick<Call, 'principal' | 'change'>

/** Bearer tokens of users. Changes throw `not_owner` unless the caller is that user or a superadmin. */
export interface Credentials {
  /** Issues a token. Throws `limit_reached` if the user has too many active ones. */
  issue(userId: string, body: IssueBody, caller: Caller): Promise<IssuedCredential>
  /** Replaces the token, with the lifetime it was issued for. Throws `credential_not_found` unless it is active. */
  rotate(userId: string, id: string, caller: Caller): Promise<IssuedCredential>
  revoke(userId: string, id: string, caller: Caller): Promise<void>
  list(userId: string, principal: Principal): Promise<PagedRows<CredentialRow>>
}

/** Compares the caller with the path before any lookup, so that the refusal does not reveal if the user exists. */
function requireOwner(userId: string, caller: Principal): void {
  if (!managesUsers(caller) && caller.userId !== userId)
    throw new Fault(notOwner, 'these are the tokens of another user')
}

export function openCredentials({ store, clock, users }: Kernel & { readonly users: Users }): Credentials {
  async function requireUser(userId: string, principal: Principal): Promise<void> {
    requireOwner(userId, principal)
    await store.read(em => users.get(em, userId))
  }

  async function issue(userId: string, body: IssueBody, { principal, change }: Caller) {
    const { label = '', expires_in_secs: lifeSecs } = body
    requireOwner(userId, principal)
    refuseLongLabel(label)
    await requireUser(userId, principal)
    const now = latest(clock)
    const expiresAt = lifeSecs === undefined ? null : now + lifeSecs * 1000
    const { token, ...fresh } = newTokenAt(now, expiresAt)
    const credential: Credential = { id: newId(), userId, label, revokedAt: null, ...fresh }
    await change(resource(credential.id), async em => {
      await users.get(em, userId) // it may have been deleted since
      await makeRoom(em, userId, now)
      await em.insert(Credential, credential)
    })
    return toIssued(credential, token)
  }

  async function rotate(userId: string, id: string, { principal, change }: Caller) {
    await requireUser(userId, principal)
    return change(resource(id), async em => {
      const before = await find(em, userId, id)
      const now = latest(clock)
      if (before.revokedAt || (before.expiresAt ?? Infinity) <= now)
        throw new Fault(credentialNotFound, `token ${id} is revoked or expired; issue a new one`)
      const expiresAt = before.expiresAt ? now + before.expiresAt - before.createdAt : null
      const { token, ...fresh } = newTokenAt(now, expiresAt)
      await renew(id, fresh, em)
      return toIssued({ ...before, ...fresh }, token)
    })
  }

  async function revoke(userId: string, id: string, { principal, change }: Caller): Promise<void> {
    await requireUser(userId, principal)
    await change(resource(id), async em => {
      await find(em, userId, id)
      await revokeIn(id, clock.now(), em)
    })
  }

  async function list(userId: string, principal: Principal): Promise<PagedRows<CredentialRow>> {
    if (!seesAll(principal)) requireOwner(userId, principal)
    await store.read(em => users.get(em, userId))
    return {
      async page(after, take, em) {
        const where = { userId, id: { $gt: after } }
        const page = await em.find(Credential, where, { orderBy: { id: 'asc' }, limit: take })
        return page.map(credential => ({ key: credential.id, row: toRow(credential) }))
      }
    }
  }

  return { issue, rotate, revoke, list }
}

async function renew(id: string, fresh: Omit<NewToken, 'token'>, em: EntityManager): Promise<void> {
  await em.nativeUpdate(Credential, { id }, fresh)
  const { tokenHash, createdAt, expiresAt } = fresh
  noteRevoked(
    em,
    'update kernel_credential set token_hash = ?, created_at = ?, last_used_at = null, expires_at = ? where id = ?',
    [tokenHash, createdAt, expiresAt, id]
  )
}

async function revokeIn(id: string, revokedAt: number, em: EntityManager): Promise<void> {
  await em.nativeUpdate(Credential, { id, revokedAt: null }, { revokedAt })
  noteRevoked(em, 'update kernel_credential set revoked_at = ? where id = ? and revoked_at is null', [
    revokedAt,
    id
  ])
}

interface NewToken extends Pick<Credential, 'tokenHash' | 'createdAt'> {
  readonly token: string
  readonly expiresAt: number | null
  readonly lastUsedAt: null
}

function newTokenAt(now: number, expiresAt: number | null): NewToken {
  const token = newToken()
  return { token, tokenHash: hashOf(token), createdAt: now, lastUsedAt: null, expiresAt }
}

/** The version does not depend on the last use. */
const resource = (id: string): Resource => ({
  kind: 'credential',
  id,
  async version(em) {
    const credential = await em.findOne(Credential, { id })
    return credential && [id, credential.tokenHash, credential.expiresAt, credential.revokedAt]
  }
})

async function find(em: EntityManager, userId: string, id: string): Promise<Credential> {
  const credential = await em.findOne(Credential, { id, userId })
  if (!credential) throw new Fault(credentialNotFound, `user ${userId} has no token ${id}`)
  return credential
}

/** Returns a condition for tokens that are neither revoked nor expired. */
export const activeAt = (now: number) => ({
  revokedAt: null,
  $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }]
})

/** Deletes the oldest inactive tokens. Throws `limit_reached` if the user has too many active ones. */
async function makeRoom(em: EntityManager, userId: string, now: number): Promise<void> {
  const inactive = { userId, $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: now } }] }
  const newestFirst = { id: 'desc' } as const
  const page = { orderBy: newestFirst, offset: maxInactive - 1, limit: maxInactive, fields: ['id'] as const }
  const surplus = await em.find(Credential, inactive, page)
  await em.nativeDelete(Credential, { id: surplus.map(({ id }) => id) })
  const active = await em.count(Credential, { userId, ...activeAt(now) })
  if (active >= maxActive)
    throw new Fault(
      limitReached,
      `user ${userId} has ${maxActive} tokens, which is the maximum; revoke one first`,
      { details: { limit: maxActive } }
    )
}

function refuseLongLabel(label: string): void {
  const bytes = Buffer.byteLength(label)
  if (bytes > 255)
    throw new Fault(invalidSchema, `/label has ${bytes} bytes; at most 255`, {
      details: { field: '/label', reason: 'maxBytes' }
    })
}

const toIssued = ({ id, userId, label, createdAt }: Credential, token: string): IssuedCredential => ({
  credential_id: id,
  user_id: userId,
  token,
  label,
  created_at: timestamp(createdAt)
})

const toRow = (credential: Credential): CredentialRow => ({
  credential_id: credential.id,
  user_id: credential.userId,
  label: credential.label,
  created_at: timestamp(credential.createdAt),
  last_used_at: timestampOrNull(credential.lastUsedAt),
  expires_at: timestampOrNull(credential.expiresAt),
  revoked_at: timestampOrNull(credential.revokedAt)
})
