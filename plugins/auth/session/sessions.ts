import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, userDisabled } from '../../../kernel/base/errors.ts'
import type { Authenticator } from '../../../kernel/http/principal.ts'
import type { Call } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { reauthenticationFault } from '../../http/exports.ts'
import { selfReadAction, type Users } from '../../users/exports.ts'
import { sessionNotFound } from '../codes.ts'
import { Password, Session } from '../entities.ts'
import type { SessionRow } from '../schema.ts'
import type { Tickets } from '../steps/tickets.ts'
import type { KnownAddresses } from '../throttle/known-addresses.ts'
import { findRequestSession, findSession } from './request-session.ts'
import type { EndedAtProvider, SessionProvider } from './session-provider.ts'
import type { SessionRules } from './session-rule.ts'
import type { SignInNotice } from './sign-in-notice.ts'

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
  readonly tickets: Pick<Tickets, 'endAll'>
  readonly sessionRules: SessionRules
  readonly signInNotice: Pick<SignInNotice, 'signedIn'>
}
type Caller = Pick<Call, 'principal' | 'requestInfo'>

interface NewSession {
  readonly userId: string
  readonly remoteAddr: string
  readonly keyHash: string | null // of the key that each request must present; null: none
  readonly method?: string
  readonly factors: readonly string[]
  readonly provider?: SessionProvider
}

/** Opens, lists and ends web sessions. */
export interface Sessions {
  /** Opens a session and returns the value of its cookie. Ends the user's oldest sessions beyond 20, and records the address. */
  open(em: EntityManager, session: NewSession): Promise<string>
  /** Ends all sessions of a user, and sign-ins that wait for a step; returns the number of sessions. */
  endAll(em: EntityManager, userId: string): Promise<number>
  /** Ends the sessions that a provider has opened: that with this `sid`, or all of the user. Returns their number. */
  endOfProvider(em: EntityManager, ended: EndedAtProvider): Promise<number>
  /** Ends the same except the caller's session; returns the number of sessions. */
  endOthers(em: EntityManager, userId: string, caller: Caller): Promise<number>
  list(caller: Caller): Promise<SessionRow[]>
  /** Ends a session of the caller; a session must be fresh to end another one. Throws `session_not_found`, also for others. */
  end(em: EntityManager, id: string, caller: Caller): Promise<void>
  /** Deletes expired sessions; returns their number. */
  sweep(em: EntityManager): Promise<number>
  /** Call it at start. If the clock was set back, resets later times to now, so that sessions do not outlast their limits, and are not fresh. */
  redate(em: EntityManager): Promise<void>
  /** Records the proof of a factor in one session. Returns false if it has ended. */
  refreshOne(em: EntityManager, id: string, factor: string): Promise<boolean>
  /** Returns the session of a request, or null if it has none, for example because it has a bearer token. */
  findCurrent(em: EntityManager, caller: Pick<Caller, 'requestInfo'>): Promise<Session | null>
  /** Records the proof of a factor: the caller's session is fresh. Does nothing if the request has no session of the caller. */
  refresh(em: EntityManager, caller: Caller, factor: string): Promise<void>
}

export function openSessions({
  store,
  clock,
  users,
  knownAddresses,
  tickets,
  sessionRules,
  signInNotice
}: Deps): Sessions {
  const expired = () => expiredBefore(clock.steady())
  const sweep = (em: EntityManager): Promise<number> => em.nativeDelete(Session, expired())

  async function open(em: EntityManager, session: NewSession): Promise<string> {
    const { userId, remoteAddr, keyHash } = session
    const token = await insert(em, session, clock.steady())
    await em.nativeDelete(Session, { userId, ...expired() })
    await endExcess(em, userId)
    await knownAddresses.record(em, userId, { remoteAddr, keyHash })
    await signInNotice.signedIn(userId, remoteAddr, em)
    return token
  }

  const endAll = async (em: EntityManager, userId: string, except = ''): Promise<number> => {
    await tickets.endAll(em, userId)
    return em.nativeDelete(Session, { userId, id: { $ne: except } })
  }

  const endOfProvider: Sessions['endOfProvider'] = (em, ended) =>
    em.nativeDelete(Session, {
      provider: ended.provider,
      ...('sid' in ended
        ? { sidHash: hashOf(ended.sid) }
        : { userId: ended.userId, ...(ended.which === 'without sid' && { sidHash: null }) })
    })

  async function findCurrent(em: EntityManager, { requestInfo }: Pick<Caller, 'requestInfo'>) {
    const isExpired = (session: Session): boolean => hasExpired(session, clock.steady())
    const found = await findRequestSession(requestInfo, em, { find: findSession, isExpired })
    return found?.session ?? null
  }

  async function endOthers(em: EntityManager, userId: string, caller: Caller): Promise<number> {
    return endAll(em, userId, (await findCurrent(em, caller))?.id)
  }

  async function list(caller: Caller): Promise<SessionRow[]> {
    const { userId } = caller.principal
    return store.read(async em => {
      await users.get(em, userId)
      const current = await findCurrent(em, caller)
      const sessions = await em.find(Session, { userId, $not: expired() }, { orderBy: { id: 'asc' } })
      return sessions
        .filter(one => !hasExpired(one, clock.steady()))
        .map(one => toRow(one, { current: one.id === current?.id, freshUntil: sessionRules.freshUntil(one) }))
    })
  }

  async function end(em: EntityManager, id: string, caller: Caller): Promise<void> {
    const { userId } = caller.principal
    await users.get(em, userId)
    const current = await findCurrent(em, caller)
    if (current && current.id !== id && !isFresh(current)) throw reauthenticationFault()
    if ((await em.nativeDelete(Session, { id, userId })) === 0)
      throw new Fault(sessionNotFound, `you have no session ${id}`)
  }

  const isFresh = (session: Session): boolean =>
    clock.steady() < (sessionRules.freshUntil(session) ?? Infinity)

  async function refresh(em: EntityManager, caller: Caller, factor: string): Promise<void> {
    const current = await findCurrent(em, caller)
    if (current?.userId === caller.principal.userId)
      await addProof(em, current, { factor, now: clock.steady() })
  }

  async function refreshOne(em: EntityManager, id: string, factor: string): Promise<boolean> {
    const session = await em.findOne(Session, { id })
    if (!session || hasExpired(session, clock.steady())) return false
    await addProof(em, session, { factor, now: clock.steady() })
    return true
  }

  const lists = { list, sweep, redate: (em: EntityManager) => redate(em, clock.steady()) }
  return { ...lists, open, endAll, endOthers, endOfProvider, end, findCurrent, refresh, refreshOne }
}

/** Returns the value of the cookie. */
async function insert(
  em: EntityManager,
  { userId, remoteAddr, keyHash, method = passwordMethod, factors, provider }: NewSession,
  now: number
): Promise<string> {
  const token = newSecret()
  await em.insert(Session, {
    id: newId(),
    userId,
    tokenHash: hashOf(token),
    keyHash,
    remoteAddr: remoteAddr.slice(0, 45), // longest address; a proxy may send more
    method,
    factors,
    provider: provider?.name ?? null,
    maxAgeSecs: provider?.maxAgeSecs ?? null,
    sidHash: provider?.sid === undefined ? null : hashOf(provider.sid),
    freshAt: now,
    createdAt: now,
    lastSeenAt: now
  })
  return token
}

async function addProof(
  em: EntityManager,
  { id, factors }: Session,
  { factor, now }: { readonly factor: string; readonly now: number }
): Promise<void> {
  await em.nativeUpdate(Session, { id }, { factors: [...new Set([...factors, factor])], freshAt: now })
}

const passwordMethod = 'session' // `auth_method` of the audit log

async function redate(em: EntityManager, now: number): Promise<void> {
  await em.nativeUpdate(Session, { createdAt: { $gt: now } }, { createdAt: now })
  await em.nativeUpdate(Session, { lastSeenAt: { $gt: now } }, { lastSeenAt: now })
  await em.nativeUpdate(Session, { freshAt: { $gt: now } }, { freshAt: 0 })
}

/** Ends the oldest sessions of the user beyond the maximum. */
async function endExcess(em: EntityManager, userId: string): Promise<void> {
  const newestFirst = { id: 'desc' } as const
  const page = { orderBy: newestFirst, offset: maxPerUser, limit: maxPerUser, fields: ['id'] as const }
  const excess = await em.find(Session, { userId }, page)
  await em.nativeDelete(Session, { id: excess.map(({ id }) => id) })
}

interface AuthenticatorDeps extends Pick<Kernel, 'store' | 'clock'> {
  readonly sessionRules: SessionRules
}

export function openSessionAuthenticator({ store, clock, sessionRules }: AuthenticatorDeps): Authenticator {
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
    const { id: userId, role } = user
    const enrollmentActions = await sessionRules.enrollmentActions({ ...session, role }, em)
    const freshUntil = sessionRules.freshUntil(session)
    return {
      touch: () => touch(session),
      principal: { userId, role, method: session.method },
      requires: 'csrf',
      ...(mustChange && { allowedActions: temporaryActions }),
      ...(enrollmentActions && { enrollmentActions }),
      ...(freshUntil !== null && { freshUntil })
    }
  }
}

/** Condition for sessions that are expired at `now`, also without a shorter lifetime. */
const expiredBefore = (now: number) => ({
  $or: [{ createdAt: { $lte: now - maxAgeMs } }, { lastSeenAt: { $lte: now - maxIdleMs } }]
})

const hasExpired = (session: Session, now: number): boolean => endsAt(session) <= now

/** Returns when the session ends unless it is used before. */
const endsAt = ({ createdAt, lastSeenAt, maxAgeSecs }: Session): number =>
  Math.min(createdAt + Math.min((maxAgeSecs ?? Infinity) * 1000, maxAgeMs), lastSeenAt + maxIdleMs)

interface Shown {
  readonly current: boolean // it is that of the request
  readonly freshUntil: number | null
}

const toRow = (session: Session, { current, freshUntil }: Shown): SessionRow => ({
  session_id: session.id,
  created_at: timestamp(session.createdAt),
  last_seen_at: timestamp(session.lastSeenAt),
  expires_at: timestamp(endsAt(session)),
  remote_addr: session.remoteAddr,
  method: session.method === passwordMethod ? 'password' : session.method,
  provider: session.provider ?? null,
  factors: [...session.factors],
  fresh_until: freshUntil === null ? null : timestamp(freshUntil),
  current
})
