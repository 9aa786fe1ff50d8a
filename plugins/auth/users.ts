// What auth adds to users: a field of the row, the initial password, and the removal of passwords and sessions.
import { Type } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import type { Creation, Removal, RowField } from '../users/exports.ts'
import { initialPasswordRequired } from './codes.ts'
import { Password } from './entities.ts'
import type { HashPool } from './hash-pool.ts'
import { type Passwords, refuseWeak } from './passwords.ts'
import type { ResetLimit } from './reset-limit.ts'
import type { Sessions } from './sessions.ts'

export const changeRequired: RowField = {
  key: 'password_change_required',
  schema: Type.Boolean({ description: 'The password is a temporary one.' }),
  defaultValue: false,
  async load(userIds, em) {
    const where = { userId: { $in: [...userIds] } }
    const found = await em.find(Password, where, {
      fields: ['userId', 'changeRequired'],
      disableIdentityMap: true
    })
    return new Map(found.map(({ userId, changeRequired }) => [userId, changeRequired]))
  }
}

const InitialPassword = Type.Object({
  initial_password: Type.Optional(
    Type.String({ description: '12 to 1024 bytes. Without it: no web login.' })
  ),
  password_change_required: Type.Optional(
    Type.Boolean({ description: 'It must be changed at the first login, within 24 hours.' })
  )
})

export const initialPassword = (deps: {
  readonly hashPool: HashPool
  readonly passwords: Passwords
}): Creation => ({
  properties: InitialPassword.properties,
  async prepare(body) {
    const { initial_password: password, password_change_required: isTemporary } = body as Type.Static<
      typeof InitialPassword
    >
    if (password === undefined) {
      if (isTemporary)
        throw new Fault(initialPasswordRequired, 'initial_password is missing: there is nothing to change')
      return async () => {}
    }
    refuseWeak(password)
    const hash = await deps.hashPool.run(argon => argon.hash(password))
    const { set, setTemporary } = deps.passwords
    return (userId, em) => (isTemporary ? setTemporary : set)(em, userId, hash)
  }
})

export const removal = (deps: { readonly sessions: Sessions; readonly resetLimit: ResetLimit }): Removal => ({
  async remove({ id }, em) {
    await em.nativeDelete(Password, { userId: id })
    await deps.sessions.endAll(em, id)
    await deps.resetLimit.forget(em, id)
    return { ids: [] }
  }
})
