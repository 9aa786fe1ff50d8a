import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Authenticator } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { selfReadAction, type Users } from '../users/exports.ts'
import { sessionNotFound } from './codes.ts'
import { Password, Session } from './entities.ts'
import type { SessionRow } from './schema.ts'

export const cookieName = 'svc_session'
export const maxAgeMs = 7 * 24 * 3_600_000
const maxIdleMs = 8 * 3_600_000
const maxPerUser = 20
const touchMs = 60_000 // a busy page costs one write a minute

export const passwordChangeAction = 'password.change'
export const logoutAction = 'auth.logout'
/** The actions that a session may call, besides public routes, while the user's password is temporary. */
const temporaryActions = [selfReadAction, passwordChangeAction, logoutAction]

interface Deps extends Kernel {
  readonly users: Users
}
type Caller = Pick<Call, 'principal' | 'requestInfo'>

interface NewSession {
  readonly userId: string
  readonly remoteAddr: string
  readonly method?: string
}

/** Opens, lists and ends web sessions. */
export interface Sessions {
  /** Opens a session and returns the value of its cookie. Ends the user's oldest sessions beyond 20. */
  open(em: EntityManager, session: NewSession): Promise<string>
  /** Ends all sessions of a user; returns their number. */
  endAll(em: EntityManager, userId: string): Promise<number>
  /** Ends the sessions of a user except the caller's; returns their number. */
  endOthers(em: EntityManager, userId: string, caller: Caller): Promise<number>
  list(caller: Caller): Promise<SessionRow[]>
  /** Ends a session of this user. Throws `session_not_found`, also for a session of another user. */
  end(em: EntityManager, userId: string, id: string): Promise<void>
  /** Deletes expired sessions; returns their number. */
  sweep(em: EntityManager): Promise<number>
  /** Call it at start. If the clock was set back, resets later times to now, so that sessions do not outlast their limits. */
  redate(em: EntityManager): Promise<void>
  /** Returns the hash of the caller's session cookie, or null for a caller with a bearer token. */
  currentHash(caller: Pick<Caller, 'requestInfo'>): string | null
}

export function openSessions({ store, clock, users }: Deps): Sessions {
  const expired = () => expiredBefore(clock.steady())
  const sweep = (em: EntityManager): Promise<number> => em.nativeDelete(Session, expired())

  async function open(
    em: EntityManager,
    { userId, remoteAddr, method = 'session' }: NewSession
  ): Promise<string> {
    const token = newSecret()
    const now = clock.steady()
    await em.insert(Session, {
      id: newId(),
      userId,
      tokenHash: hashOf(token),
      remoteAddr: remoteAddr.slice(0, 45), // longest address; a proxy may send more
      method,
      createdAt: now,
      lastSeenAt: now
    })
    await em.nativeDelete(Session, { userId, ...expired() })
    const newestFirst = { id: 'desc' } as const
    const page = { orderBy: newestFirst, offset: maxPerUser, limit: maxPerUser, fields: ['id'] as const }
    const excess = await em.find(Session, { userId }, page)
    await em.nativeDelete(Session, { id: excess.map(({ id }) => id) })
    return token
  }

  const endAll = (em: EntityManager, userId: string): Promise<number> => em.nativeDelete(Session, { userId })

  const endOthers = (em: EntityManager, userId: string, caller: Caller): Promise<number> =>
    em.nativeDelete(Session, { userId, tokenHash: { $ne: currentHash(caller) ?? '' } })

  async function list(caller: Caller): Promise<SessionRow[]> {
    const { userId } = caller.principal
    const sessions = await store.read(async em => {
      await users.get(em, userId)
      return em.find(Session, { userId, $not: expired() }, { orderBy: { id: 'asc' } })
    })
    const current = currentHash(caller)
    return sessions.map(session => toRow(session, session.tokenHash === current))
  }

  async function end(em: EntityManager, userId: string, id: string): Promise<void> {
    await users.get(em, userId)
    if ((await em.nativeDelete(Session, { id, userId })) === 0)
      throw new Fault(sessionNotFound, `you have no session ${id}`)
  }

  async function redate(em: EntityManager): Promise<void> {
    const now = clock.steady()
    await em.nativeUpdate(Session, { createdAt: { $gt: now } }, { createdAt: now })
    await em.nativeUpdate(Session, { lastSeenAt: { $gt: now } }, { lastSeenAt: now })
  }

  return { open, endAll, endOthers, list, end, sweep, redate, currentHash }
}

const currentHash = ({
  requestInfo: { authorization, cookies }
}: Pick<Caller, 'requestInfo'>): string | null => {
  const token = cookies[cookieName]
  return authorization === undefined && token !== undefined ? hashOf(token) : null
}

/** Returns the session of a cookie with this hash, and its user. */
async function findSession(tokenHash: string, em: EntityManager) {
  const session = await em.findOne(Session, { tokenHash })
  const user = session && (await em.findOne(User, { id: session.userId }))
  if (!user) return null
  const password = await em.findOne(Password, { userId: user.id })
  return { session, user, mustChange: password?.changeRequired === true }
}

export function openSessionAuthenticator({ store, clock }: Deps): Authenticator {
  const tables = [Session, User, Password].map(({ meta }) => meta.tableName)
  const sessionOf = store.remembered(tables, findSession) // read at each request of a page

  /** Stores the time of the last request, to the minute. */
  async function touch({ id, lastSeenAt }: Session): Promise<void> {
    const now = clock.steady()
    if (now - lastSeenAt >= touchMs)
      await store.change(em => em.nativeUpdate(Session, { id }, { lastSeenAt: now }))
  }

  return async ({ cookies }, em) => {
    const token = cookies[cookieName]
    if (token === undefined) return null
    const { session, user, mustChange } = (await sessionOf(hashOf(token), em)) ?? {}
    if (!session || !user || hasExpired(session, clock.steady())) return null
    if (user.disabled) throw new Fault(userDisabled, `user ${user.id} is disabled`)
    return {
      touch: () => touch(session),
      principal: { userId: user.id, role: user.role, method: session.method },
      requires: 'csrf',
      ...(mustChange && { allowedActions: temporaryActions })
    }
  }
}

/** Condition for sessions that are expired at `now`. */
const expiredBefore = (now: number) => ({
  $or: [{ createdAt: { $lte: now - maxAgeMs } }, { lastSeenAt: { $lte: now - maxIdleMs } }]
})

const hasExpired = ({ createdAt, lastSeenAt }: Session, now: number): boolean =>
  createdAt <= now - maxAgeMs || lastSeenAt <= now - maxIdleMs

const toRow = (session: Session, isCurrent: boolean): SessionRow => ({
  session_id: session.id,
  created_at: timestamp(session.createdAt),
  last_seen_at: timestamp(session.lastSeenAt),
  expires_at: timestamp(Math.min(session.createdAt + maxAgeMs, session.lastSeenAt + maxIdleMs)),
  remote_addr: session.remoteAddr,
  current: isCurrent
})
