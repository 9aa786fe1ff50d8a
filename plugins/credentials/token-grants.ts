import { latest } from '../../kernel/base/clock.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { activeAt, makeRoom, revokeIn, scopesFor, stored } from './credentials.ts'
import type { TokenGrants } from './exports.ts'
import type { KnownScopes } from './known-scopes.ts'
import { limitsOf, parseScopes } from './limits.ts'
import type { keys } from './settings.ts'

interface Deps extends Kernel<typeof keys> {
  readonly knownScopes: KnownScopes
}

export const openTokenGrants = ({ clock, config, knownScopes }: Deps): TokenGrants => ({
  parseScopes: scopes => parseScopes(scopes, knownScopes),

  async issue(em, { userId, role }, { label, scopes, mostMs }) {
    const now = latest(clock)
    const lifeMs = Math.min(mostMs, config.credential_max_secs * 1000 || mostMs)
    const limits = { scopes: scopesFor([{ role }], scopes), allowedSources: null, lifeMs }
    await makeRoom(em, userId, now)
    const id = newId()
    await em.insert(Credential, {
      id,
      userId,
      label,
      tokenHash: pendingHash(id),
      createdAt: now,
      expiresAt: now + lifeMs,
      revokedAt: null,
      lastUsedAt: null,
      lastUsedFrom: null,
      ...stored(limits)
    })
    return id
  },

  isPending: async (em, id) => (await em.count(Credential, pending(id, latest(clock)))) === 1,

  async handOver(em, id) {
    const where = pending(id, latest(clock))
    const credential = await em.findOne(Credential, where)
    const token = newToken()
    if (!credential || (await em.nativeUpdate(Credential, where, { tokenHash: hashOf(token) })) === 0)
      return null
    const { createdAt, expiresAt } = credential
    return { token, scopes: limitsOf(credential).scopes, createdAt, expiresAt: expiresAt ?? Infinity }
  },

  async withdraw(em, id) {
    if ((await em.count(Credential, pending(id, latest(clock)))) === 0) return false
    await revokeIn(id, clock.now(), em)
    return true
  }
})

/** The hash of no token: hashes are 64 hex digits. */
const pendingHash = (id: string): string => `pending ${id}`

const pending = (id: string, now: number) => ({ id, tokenHash: pendingHash(id), ...activeAt(now) })
