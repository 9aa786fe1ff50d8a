import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, userDisabled } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { AuthenticatedCaller, RequestInfo } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Users } from '../users/exports.ts'
import { selfReadAction } from '../users/exports.ts'
import { Password, Session } from './entities.ts'
import type { SessionRow } from './schema.ts'

export const sessionNotFound = defineCode('session_not_found', 404, 8)

export const cookieName = 'svc_session'
export const absoluteMs = 7 * 24 * 3_600_000
const idleMs = 8 * 3_600_000
const perUser = 20
const touchMs = 60_000 // a busy page costs one write a minute

export const passwordChange = 'password.change'
export const logoutAction = 'auth.logout'
/** All that a session may do, beside what is public, while its user's password is a temporary one. */
const untilChanged = [selfReadAction, passwordChange, logoutAction]

interface Deps extends Kernel {
  readonly users: Users
}
type Caller = Pick<Call, 'principal' | 'requestInfo'>

export type Sessions = ReturnType<typeof openSessions>

export function openSessions({ store, clock, users }: Deps) {
  const over = () => ({
    $or: [{ createdAt: { $lte: clock.now() - absoluteMs } }, { lastSeenAt: { $lte: clock.now() - idleMs } }]
  })
  const sweep = (em: EntityManager): Promise<number> => em.nativeDelete(Session, over())

  /** The cookie's value. Past the most a user may have, the oldest go. */
  async function open(em: EntityManager, userId: string, remoteAddr: string): Promise<string> {
    const token = newSecret()
    const now = clock.now()
    await em.insert(Session, {
      id: newId(),
      userId,
      tokenHash: hashOf(token),
      remoteAddr: remoteAddr.slice(0, 45), // an address; what a proxy says may be longer
      createdAt: now,
      lastSeenAt: now
    })
    await em.nativeDelete(Session, { userId, ...over() })
    const excess = await em.find(
      Session,
      { userId },
      { orderBy: { id: 'desc' }, offset: perUser, limit: perUser, fields: ['id'] }
    )
    await em.nativeDelete(Session, { id: excess.map(({ id }) => id) })
    return token
  }

  async function authenticate({ cookies }: RequestInfo): Promise<AuthenticatedCaller | null> {
    const token = cookies[cookieName]
    if (token === undefined) return null
    const found = await store.read(async em => {
      const session = await em.findOne(Session, { tokenHash: hashOf(token), $not: over() })
      const user = session && (await users.find(em, session.userId))
      return user && { session, user, password: await em.findOne(Password, { userId: user.id }) }
    })
    if (!found) return null
    const { session, user, password } = found
    if (user.disabled) throw new Fault(userDisabled, `user ${user.id} is disabled`)
    await touch(session)
    return {
      principal: { userId: user.id, role: user.role, method: 'session' },
      requires: 'csrf',
      ...(password?.changeRequired && { allowedActions: untilChanged })
    }
  }

  async function touch({ id, lastSeenAt }: Session): Promise<void> {
    const now = clock.now()
    if (now - lastSeenAt >= touchMs)
      await store.change(em => em.nativeUpdate(Session, { id }, { lastSeenAt: now }))
  }

  /** Null where the caller came with a bearer: then no session is its own. */
  const currentHash = ({ principal, requestInfo }: Caller): string | null =>
    principal.method === 'session' ? hashOf(requestInfo.cookies[cookieName] ?? '') : null

  const endAll = (em: EntityManager, userId: string): Promise<number> => em.nativeDelete(Session, { userId })

  const endOthers = (em: EntityManager, userId: string, caller: Caller): Promise<number> =>
    em.nativeDelete(Session, { userId, tokenHash: { $ne: currentHash(caller) ?? '' } })

  async function list(caller: Caller): Promise<SessionRow[]> {
    const { userId } = caller.principal
    const found = await store.read(async em => {
      await users.get(em, userId)
      return em.find(Session, { userId, $not: over() }, { orderBy: { id: 'asc' } })
    })
    const current = currentHash(caller)
    return found.map(session => rowOf(session, session.tokenHash === current))
  }

  /** One's own; another's is as unknown as none. */
  async function end(em: EntityManager, userId: string, id: string): Promise<void> {
    await users.get(em, userId)
    if ((await em.nativeDelete(Session, { id, userId })) === 0)
      throw new Fault(sessionNotFound, `you have no session ${id}`)
  }

  return { open, authenticate, endAll, endOthers, list, end, sweep, currentHash }
}

const rowOf = (session: Session, isCurrent: boolean): SessionRow => ({
  session_id: session.id,
  created_at: timestamp(session.createdAt),
  last_seen_at: timestamp(session.lastSeenAt),
  expires_at: timestamp(Math.min(session.createdAt + absoluteMs, session.lastSeenAt + idleMs)),
  remote_addr: session.remoteAddr,
  current: isCurrent
})
