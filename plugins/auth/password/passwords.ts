import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, latest } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { noteRevoked } from '../../../kernel/store/sql/store-watch.ts'
import { refuseServiceAccount, type Users } from '../../users/exports.ts'
import { invalidLogin, passwordUnchanged } from '../codes.ts'
import { Password } from '../entities.ts'
import type { ChangeBody } from '../schema.ts'
import { keyHashIn } from '../session/session-cookie.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Attempts } from '../throttle/attempts.ts'
import type { Argon, HashPool } from './hash-pool.ts'
import { refuseNew } from './password-strength.ts'

const temporaryMs = 24 * 3_600_000

interface Deps extends Kernel {
  readonly users: Users
  readonly sessions: Sessions
  readonly attempt: Attempts
  readonly hashPool: HashPool
}
export type Duration = 'temporary' | 'permanent'
type Caller = Pick<Call, 'principal' | 'requestInfo' | 'change'>

/** Verifies, stores and changes passwords. */
export interface Passwords {
  /** Returns the stored password if it matches and has not expired. Returns null otherwise, after the same time. */
  verify(argon: Argon, userId: string, password: string): Promise<Password | null>
  /** Stores a password. A temporary one expires, and its sessions can do little except change it. */
  set(em: EntityManager, userId: string, hash: string, duration: Duration): Promise<void>
  /** Changes the caller's own password and ends the caller's other sessions. */
  changeOwn(body: ChangeBody, caller: Caller): Promise<void>
}

export function openPasswords({ store, clock, users, sessions, attempt, hashPool }: Deps): Passwords {
  async function verify(argon: Argon, userId: string, password: string): Promise<Password | null> {
    const row = await store.read(em => em.findOne(Password, { userId }))
    const isMatch = await argon.verify(row?.hash ?? null, password)
    return row && isMatch && latest(clock) < (row.expiresAt ?? Infinity) ? row : null
  }

  async function set(em: EntityManager, userId: string, hash: string, duration: Duration): Promise<void> {
    const row = { userId, ...passwordColumns(hash, duration, clock) }
    await em.upsert(Password, row)
    noteChanged(em, row)
  }

  async function changeOwn(body: ChangeBody, caller: Caller): Promise<void> {
    const { principal, requestInfo, change } = caller
    const { userId } = principal
    const user = await store.read(em => users.get(em, userId)) // throws for the operator token, which is not a user
    refuseServiceAccount(user, userId)
    const { displayName } = user
    await refuseNew(body.new_password, body.new_password_confirm, { userId, displayName })
    const before = await attempt(
      {
        action: 'password',
        subject: userId,
        remoteAddr: requestInfo.remoteAddr,
        keyHash: keyHashIn(requestInfo)
      },
      argon => verify(argon, userId, body.current_password)
    )
    if (!before) throw new Fault(invalidLogin, 'current_password is wrong or has expired')
    if (body.new_password === body.current_password) throw passwordUnchangedFault()
    const hash = await hashPool.run(argon => argon.hash(body.new_password), {
      address: networkOf(requestInfo.remoteAddr),
      subject: userId
    })
    await change({ kind: 'user', id: userId }, async em => {
      const after = passwordColumns(hash, 'permanent', clock)
      if ((await em.nativeUpdate(Password, { userId, hash: before.hash }, after)) === 0)
        throw new Fault(invalidLogin, 'the password changed during this request; sign in with the new one')
      noteChanged(em, { userId, ...after })
      await sessions.endOthers(em, userId, caller)
    })
  }

  return { verify, set, changeOwn }
}

/** Records the change, so that a restored backup does not bring the old password back. */
function noteChanged(em: EntityManager, { userId, ...columns }: Password): void {
  const { hash, changeRequired, changedAt, expiresAt } = columns
  noteRevoked(
    em,
    'update auth_password set hash = ?, change_required = ?, changed_at = ?, expires_at = ? where user_id = ?',
    [hash, changeRequired, changedAt, expiresAt ?? null, userId]
  )
}

export const passwordUnchangedFault = (): Fault =>
  new Fault(passwordUnchanged, 'the new password equals the current one; choose another')

const passwordColumns = (hash: string, duration: Duration, clock: Clock) => ({
  hash,
  changeRequired: duration === 'temporary',
  changedAt: clock.now(),
  expiresAt: duration === 'temporary' ? latest(clock) + temporaryMs : null
})
