// Fills slots of the plugin `users`: a field of the row, the initial password, and the removal of passwords and sessions.
import { Type } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import {
  type Creation,
  type Removal,
  type RowField,
  refuseServiceAccount,
  serviceAccount
} from '../users/exports.ts'
import { busy, initialPasswordRequired, passwordTooLong, passwordTooShort, passwordTooWeak } from './codes.ts'
import { Password } from './entities.ts'
import type { HashPool } from './password/hash-pool.ts'
import { refuseWeak } from './password/password-strength.ts'
import type { Passwords } from './password/passwords.ts'
import type { Sessions } from './session/sessions.ts'
import type { KnownAddresses } from './throttle/known-addresses.ts'
import type { ResetLimit } from './throttle/reset-limit.ts'
import type { StepLimit } from './throttle/step-limit.ts'

interface Deps {
  readonly hashPool: HashPool
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly resetLimit: ResetLimit
  readonly stepLimit: StepLimit
  readonly knownAddresses: KnownAddresses
}

export const changeRequired: RowField = {
  key: 'password_change_required',
  schema: Type.Boolean({ description: 'The password is temporary.' }),
  defaultValue: false,
  async load(userIds, em) {
    const where = { userId: { $in: [...userIds] } }
    const options = { fields: ['userId', 'changeRequired'] } as const
    const found = await em.find(Password, where, options)
    return new Map(found.map(({ userId, changeRequired }) => [userId, changeRequired]))
  }
}

const InitialPassword = Type.Object({
  initial_password: Type.Optional(
    Type.String({ description: '12 to 1024 bytes. Without it the user has no web login.' })
  ),
  password_change_required: Type.Optional(
    Type.Boolean({
      description: 'The user must change the initial password at the first login, within 24 hours.'
    })
  )
})

export const initialPassword = ({ hashPool, passwords }: Deps): Creation => ({
  properties: InitialPassword.properties,
  errors: [serviceAccount, initialPasswordRequired, passwordTooShort, passwordTooLong, passwordTooWeak, busy],
  async prepare(body, owner) {
    const given = body as Type.Static<typeof InitialPassword>
    const { initial_password: password, password_change_required: isTemporary } = given
    if (password === undefined) {
      if (isTemporary)
        throw new Fault(initialPasswordRequired, 'initial_password is missing: there is nothing to change')
      return async () => {}
    }
    refuseServiceAccount(owner, owner.userId)
    await refuseWeak(password, owner)
    const hash = await hashPool.run(argon => argon.hash(password))
    return (userId, em) => passwords.set(em, userId, hash, isTemporary ? 'temporary' : 'permanent')
  }
})

export const removal = ({ sessions, resetLimit, stepLimit, knownAddresses }: Deps): Removal => ({
  async remove({ id }, em) {
    await em.nativeDelete(Password, { userId: id })
    await sessions.endAll(em, id)
    await resetLimit.forget(em, id)
    await stepLimit.forget(em, id)
    await knownAddresses.forget(em, id)
    return { ids: [] }
  }
})
