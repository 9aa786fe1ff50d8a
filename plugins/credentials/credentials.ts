import type { EntityManager } from '@mikro-orm/sql'
import { latest, timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import { Fault, limitReached, notOwner } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { managesUsers, type PagedRows, seesAll } from '../http/exports.ts'
import type { Users } from '../users/exports.ts'
import { credentialLifetime, credentialNotFound } from './codes.ts'
import type { KnownScopes } from './known-scopes.ts'
import { type Limits, limitsOf, parseLimits, requireWithin, tooBroad } from './limits.ts'
import { refuseLongLabel } from './refuse-long-label.ts'
import type { CredentialRow, IssueBody, IssuedCredential } from './schema.ts'
import type { keys } from './settings.ts'

const maxActive = 100 // of one user
const maxInactive = 100 // revoked or expired, of one user; the oldest are deleted

type Caller = Pick<Call, 'principal' | 'change'>

/** Bearer tokens of users. Changes throw `not_owner` unless the caller is that user or a superadmin. */
export interface Credentials {
  /**
   * Issues a token. Throws `validation.scopes`, `credential_lifetime`, `credential_too_broad`, or `limit_reached` if the user
   * has too many active ones.
   */
  issue(userId: string, body: IssueBody, caller: Caller): Promise<IssuedCredential>
  /**
   * Replaces the token, with the limits and the lifetime it was issued for. Throws `credential_not_found` unless it is active,
   * or `credential_too_broad`.
   */
  rotate(userId: string, id: string, caller: Caller): Promise<IssuedCredential>
  revoke(userId: string, id: string, caller: Caller): Promise<void>
  list(userId: string, principal: Principal): Promise<PagedRows<CredentialRow>>
}

/** Compares the caller with the path before any lookup, so that the refusal does not reveal if the user exists. */
function requireOwner(userId: string, caller: Principal): void {
  if (!managesUsers(caller) && caller.userId !== userId)
    throw new Fault(notOwner, 'these are the tokens of another user')
}

interface Deps extends Kernel<typeof keys> {
  readonly users: Users
  readonly knownScopes: KnownScopes
}

export function openCredentials({ store, clock, config, users, knownScopes }: Deps): Credentials {
  async function requireUser(userId: string, principal: Principal): Promise<void> {
    requireOwner(userId, principal)
    await store.read(em => users.get(em, userId))
  }

  async function issue(userId: string, body: IssueBody, { principal, change }: Caller) {
    const { label = '', expires_in_secs: lifeSecs } = body
    requireOwner(userId, principal)
    refuseLongLabel(label)
    const asked = parseLimits(body, knownScopes)
    await requireUser(userId, principal)
    refuseLongLife(lifeSecs, config.credential_max_secs)
    const now = latest(clock)
    const { lifeMs } = asked
    const { token, ...fresh } = newTokenAt(now, lifeMs && now + lifeMs)
    const id = newId()
    return change(resource(id), async em => {
      const user = await users.get(em, userId) // it may have been deleted since
      const limits = { ...asked, scopes: scopesFor([principal, user], asked.scopes) }
      await requireWithinCaller(limits, principal, em)
      await makeRoom(em, userId, now)
      const credential: Credential = { id, userId, label, revokedAt: null, ...fresh, ...stored(limits) }
      await em.insert(Credential, credential)
      return toIssued(credential, token)
    })
  }

  async function rotate(userId: string, id: string, { principal, change }: Caller) {
    await requireUser(userId, principal)
    return change(resource(id), async em => {
      const before = await find(em, userId, id)
      const now = latest(clock)
      if (before.revokedAt || (before.expiresAt ?? Infinity) <= now)
        throw new Fault(credentialNotFound, `token ${id} is revoked or expired; issue a new one`)
      if (principal.token?.id !== id) await requireWithinCaller(limitsOf(before), principal, em)
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
    return rowsOf(userId)
  }

  return { issue, rotate, revoke, list }
}

const rowsOf = (userId: string): PagedRows<CredentialRow> => ({
  async page(after, take, em) {
    const where = { userId, id: { $gt: after } }
    const page = await em.find(Credential, where, { orderBy: { id: 'asc' }, limit: take })
    return page.map(credential => ({ key: credential.id, row: toRow(credential) }))
  }
})

/** Throws `credential_too_broad` for more than the token of the caller allows. */
async function requireWithinCaller(limits: Limits, { token }: Principal, em: EntityManager): Promise<void> {
  if (!token) return
  const own = await em.findOne(Credential, { id: token.id })
  if (own) requireWithin(limits, limitsOf(own)) // else the change is refused: the token has ended
}

/** Returns the scopes of a new token: if its issuer or its user is a viewer, it only reads. */
export function scopesFor(people: readonly Pick<Principal, 'role'>[], scopes: readonly string[] | null) {
  if (!people.some(({ role }) => role === 'viewer')) return scopes
  if (scopes === null) return ['*:read']
  const write = scopes.find(scope => scope.endsWith(':write'))
  if (write !== undefined)
    throw tooBroad('scopes', `viewers have tokens with read scopes only; omit ${write} from scopes`)
  return scopes
}

export const stored = ({ scopes, allowedSources }: Limits) => ({
  scopes: scopes?.join(' ') ?? null,
  allowedSources: allowedSources?.join(' ') ?? null
})

/** `maxSecs` 0: no limit. */
function refuseLongLife(lifeSecs: number | undefined, maxSecs: number): void {
  if (maxSecs === 0 || (lifeSecs ?? Infinity) <= maxSecs) return
  const got = lifeSecs === undefined ? 'none' : lifeSecs
  throw new Fault(
    credentialLifetime,
    `expires_in_secs must be at most ${maxSecs}, the credential_max_secs of this server, got ${got}`,
    { details: { field: 'expires_in_secs', limit: maxSecs } }
  )
}

async function renew(id: string, fresh: Omit<NewToken, 'token'>, em: EntityManager): Promise<void> {
  await em.nativeUpdate(Credential, { id }, fresh)
  const { tokenHash, createdAt, expiresAt } = fresh
  noteRevoked(
    em,
    'update kernel_credential set token_hash = ?, created_at = ?, last_used_at = null, last_used_from = null, expires_at = ? where id = ?',
    [tokenHash, createdAt, expiresAt, id]
  )
}

export async function revokeIn(id: string, revokedAt: number, em: EntityManager): Promise<void> {
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
  readonly lastUsedFrom: null
}

function newTokenAt(now: number, expiresAt: number | null): NewToken {
  const token = newToken()
  return { token, tokenHash: hashOf(token), createdAt: now, lastUsedAt: null, lastUsedFrom: null, expiresAt }
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
export async function makeRoom(em: EntityManager, userId: string, now: number): Promise<void> {
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
  last_used_from: credential.lastUsedFrom ?? null,
  expires_at: timestampOrNull(credential.expiresAt),
  revoked_at: timestampOrNull(credential.revokedAt),
  scopes: rowListOf(limitsOf(credential).scopes),
  allowed_sources: rowListOf(limitsOf(credential).allowedSources)
})

const rowListOf = (list: readonly string[] | null): string[] | null => list && [...list]
