import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import type { AuthenticatedCaller, RequestInfo } from '../../kernel/http/principal.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { selfReadAction, type Users } from '../users/exports.ts'
import { Password, Session } from './entities.ts'
import { cookieName, expiredAt, logoutAction, passwordChangeAction } from './sessions.ts'

const touchMs = 60_000 // a busy page costs one write a minute

/** Besides the public routes, the only actions of a session while the user's password is a temporary one. */
const temporaryActions = [selfReadAction, passwordChangeAction, logoutAction]

interface Deps extends Kernel {
  readonly users: Users
}

/** Returns the authenticator of session cookies. */
export function openSessionAuthenticator({ store, clock, users }: Deps) {
  /** Stores the time of the last request, to the minute. */
  async function touch({ id, lastSeenAt }: Session): Promise<void> {
    const now = clock.now()
    if (now - lastSeenAt >= touchMs)
      await store.change(em => em.nativeUpdate(Session, { id }, { lastSeenAt: now }))
  }

  return async function authenticate({ cookies }: RequestInfo): Promise<AuthenticatedCaller | null> {
    const token = cookies[cookieName]
    if (token === undefined) return null
    const found = await store.read(async em => {
      const session = await em.findOne(Session, { tokenHash: hashOf(token), $not: expiredAt(clock.now()) })
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
      ...(password?.changeRequired && { allowedActions: temporaryActions })
    }
  }
}
