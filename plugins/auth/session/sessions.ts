import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, userDisabled } from '../../../kernel/base/errors.ts'
import type { Authenticator } from '../../../kernel/http/principal.ts'
import type { Call } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { selfReadAction, type Users } from '../../users/exports.ts'
import { sessionNotFound } from '../codes.ts'
import { Password, Session } from '../entities.ts'
import type { SessionRow } from '../schema.ts'
import type { KnownAddresses } from '../throttle/known-addresses.ts'
import { findRequestSession, findSession } from './request-session.ts'

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
  readonly knownAddresses: KnownAddresses
}
type Caller = Pick<Call, 'principal' | 'requestInfo'>

interface NewSession {
  readonly userId: string
  readonly remoteAddr: string
  readonly keyHash: string | null // of the key that each request must present; null: none
  readonly method?: string
}

/** Opens, lists and ends web sessions. */
export interface Sessions {
  /** Opens a session and returns the value of its cookie. Ends the user's oldest sessions beyond 20, and records the address. */
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
  /** Returns the session of a request, or null if it has none, for example because it has a bearer token. */
  findCurrent(em: EntityManager, caller: Pick<Caller, 'requestInfo'>): Promise<Session | null>
}

export function openSessions({ store, clock, users, knownAddresses }: Deps): Sessions {
  const expired = () => expiredBefore(clock.steady())
  const sweep = (em: EntityManager): Promise<number> => em.nativeDelete(Session, expired())

  async function open(
    em: EntityManager,
    { userId, remoteAddr, keyHash, method = 'session' }: NewSession
  ): Promise<string> {
    const token = newSecret()
    const now = clock.steady()
    await em.insert(Session, {
      id: newId(),
      userId,
      tokenHash: hashOf(token),
      keyHash,
      remoteAddr: remoteAddr.slice(0, 45), // longest address; a proxy may send more
      method,
      createdAt: now,
      lastSeenAt: now
    })
    await em.nativeDelete(Session, { userId, ...expired() })
    await endExcess(em, userId)
    await knownAddresses.record(em, userId, { remoteAddr, keyHash })
    return token
  }

  const endAll = (em: EntityManager, userId: string): Promise<number> => em.nativeDelete(Session, { userId })

  async function findCurrent(em: EntityManager, { requestInfo }: Pick<Caller, 'requestInfo'>) {
    const isExpired = (session: Session): boolean => hasExpired(session, clock.steady())
    const found = await findRequestSession(requestInfo, em, { find: findSession, isExpired })
    return found?.session ?? null
  }

  async function endOthers(em: EntityManager, userId: string, caller: Caller): Promise<number> {
    const current = await findCurrent(em, caller)
    return em.nativeDelete(Session, { userId, id: { $ne: current?.id ?? '' } })
  }

  async function list(caller: Caller): Promise<SessionRow[]> {
    const { userId } = caller.principal
    return store.read(async em => {
      await users.get(em, userId)
      const current = await findCurrent(em, caller)
      const sessions = await em.find(Session, { userId, $not: expired() }, { orderBy: { id: 'asc' } })
      return sessions.map(session => toRow(session, session.id === current?.id))
    })
  }

  async function end(em: EntityManager, userId: string, id: string): Promise<void> {
    await users.get(em, userId)
    if ((await em.nativeDelete(Session, { id, userId })) === 0)
      throw new Fault(sessionNotFound, `you have no session ${id}`)
  }

  return { open, endAll, endOthers, list, end, sweep, redate: em => redate(em, clock.steady()), findCurrent }
}

async function redate(em: EntityManager, now: number): Promise<void> {
  await em.nativeUpdate(Session, { createdAt: { $gt: now } }, { createdAt: now })
  await em.nativeUpdate(Session, { lastSeenAt: { $gt: now } }, { lastSeenAt: now })
}

/** Ends the oldest sessions of the user beyond the maximum. */
async function endExcess(em: EntityManager, userId: string): Promise<void> {
  const newestFirst = { id: 'desc' } as const
  const page = { orderBy: newestFirst, offset: maxPerUser, limit: maxPerUser, fields: ['id'] as const }
  const excess = await em.find(Session, { userId }, page)
  await em.nativeDelete(Session, { id: excess.map(({ id }) => id) })
}

export function openSessionAuthenticator({ store, clock }: Kernel): Authenticator {
  const tables = [Session, User, Password].map(({ meta }) => meta.tableName)
  const sessionOf = store.remembered(tables, findSession) // read at each request of a page

  /** Stores the time of the last request, to the minute. */
  async function touch({ id, lastSeenAt }: Session): Promise<void> {
    const now = clock.steady()
    if (now - lastSeenAt >= touchMs)
      await store.change(em => em.nativeUpdate(Session, { id }, { lastSeenAt: now }))
  }

  const isExpired = (session: Session): boolean => hasExpired(session, clock.steady())

  return async (info, em) => {
    const found = await findRequestSession(info, em, { find: sessionOf, isExpired })
    if (!found) return null
    const { session, user, mustChange } = found
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
