// One API caller per kind of access, and the state of its user in the store. Tests restore it after each accepted write.
import type { Role } from '../../kernel/http/principal.ts'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { operatorToken } from '../../kit/test-server.ts'
import { Password, Session } from '../../plugins/auth/entities.ts'
import { type Deps, origin } from '../../plugins/auth/test/fixture.ts'

export const password = 'a long enough password'

export interface Caller {
  readonly name: string
  readonly role: Role
  readonly groups: readonly string[]
  readonly userId: string | null // null: the headers identify no user
  readonly headers: Readonly<Record<string, string>>
}

const csrfHeaders = { origin, 'x-svc-csrf': '1' }
const bearerOf = (userId: string) => ({ authorization: `Bearer svct_${userId}` })
const cookieOf = (userId: string) => ({ authorization: '', cookie: `svc_session=session-of-${userId}` })
const unauthenticated = { authorization: '' } // '' sends none; the default is the operator's token

const withoutGroups: readonly Omit<Caller, 'groups'>[] = [
  { name: 'none', role: 'user', userId: null, headers: unauthenticated },
  { name: 'bad-bearer', role: 'user', userId: null, headers: { authorization: 'Bearer svct_nonsense' } },
  { name: 'expired', role: 'user', userId: 'exa', headers: bearerOf('exa') },
  { name: 'revoked', role: 'user', userId: 'rex', headers: bearerOf('rex') },
  { name: 'ended', role: 'user', userId: 'rex', headers: { ...cookieOf('rex'), ...csrfHeaders } },
  { name: 'owner', role: 'user', userId: 'ada', headers: bearerOf('ada') },
  {
    name: 'mixed',
    role: 'user',
    userId: 'ada',
    headers: { ...cookieOf('root'), ...csrfHeaders, ...bearerOf('ada') }
  },
  { name: 'stranger', role: 'user', userId: 'eve', headers: bearerOf('eve') },
  { name: 'ungranted', role: 'user', userId: 'gus', headers: bearerOf('gus') },
  { name: 'demoted', role: 'user', userId: 'boss', headers: { ...cookieOf('boss'), ...csrfHeaders } },
  { name: 'temporary', role: 'user', userId: 'tess', headers: { ...cookieOf('tess'), ...csrfHeaders } },
  { name: 'disabled', role: 'user', userId: 'dan', headers: bearerOf('dan') },
  { name: 'disabled-session', role: 'user', userId: 'dan', headers: { ...cookieOf('dan'), ...csrfHeaders } },
  { name: 'viewer', role: 'viewer', userId: 'vic', headers: { ...cookieOf('vic'), ...csrfHeaders } },
  { name: 'viewer-token', role: 'viewer', userId: 'vic', headers: bearerOf('vic') },
  { name: 'operator', role: 'operator', userId: 'opal', headers: bearerOf('opal') },
  {
    name: 'superadmin',
    role: 'superadmin',
    userId: 'root',
    headers: { ...cookieOf('root'), ...csrfHeaders }
  },
  { name: 'no-csrf', role: 'superadmin', userId: 'root', headers: cookieOf('root') },
  {
    name: 'operator-token',
    role: 'superadmin',
    userId: '_operator',
    headers: { authorization: `Bearer ${operatorToken}` }
  }
]

export const callers: readonly Caller[] = withoutGroups.map(caller => ({
  ...caller,
  groups: [
    caller.role === 'user' ? 'plain' : 'seeing',
    'authorization' in caller.headers && caller.headers.authorization ? 'bearer' : 'cookie'
  ]
}))

/** Users of the callers, and `zoe`, who owns the resources that are foreign to all callers. */
const users = ['exa', 'rex', 'ada', 'eve', 'gus', 'boss', 'tess', 'dan', 'vic', 'opal', 'root', 'zoe']
const roles: Readonly<Record<string, Role>> = { vic: 'viewer', opal: 'operator', root: 'superadmin' }

/** Returns a fixed id, so that an upsert replaces the user's only row of this kind. */
const rowIdOf = (kind: string, userId: string): string => `${kind}-${userId}`.toUpperCase().padEnd(26, '0')

/** Resets these users to the state that the callers' names describe. `hash` is the hash of `password`. */
export async function resetUsers({ store, clock }: Deps, hash: string, userIds = users): Promise<void> {
  const now = clock.now()
  await store.change(async em => {
    for (const id of userIds) {
      const role = roles[id] ?? 'user'
      await em.upsert(User, { id, displayName: `name of ${id}`, role, disabled: id === 'dan', createdAt: 1 })
      const isTemporary = id === 'tess'
      await em.upsert(Password, {
        userId: id,
        hash,
        changeRequired: isTemporary,
        changedAt: now,
        expiresAt: isTemporary ? now + 3_600_000 : null
      })
      await em.upsert(Credential, {
        id: rowIdOf('C', id),
        userId: id,
        label: `label of ${id}`,
        tokenHash: hashOf(`svct_${id}`),
        createdAt: now,
        lastUsedAt: now,
        expiresAt: id === 'exa' ? now : null,
        revokedAt: id === 'rex' ? now : null
      })
      if (id === 'rex') continue // its session has ended
      await em.upsert(Session, {
        id: rowIdOf('S', id),
        userId: id,
        tokenHash: hashOf(`session-of-${id}`),
        remoteAddr: '192.0.2.1',
        createdAt: now,
        lastSeenAt: now,
        factors: [],
        freshAt: now
      })
    }
  })
}
