import { defineCode, defineCommand, defineRoute, Fault, Type } from 'sluice/plugin'
import { Factor } from './entities.ts'
import { contextOf, type Deps, useCode } from './factors.ts'
import { newRecoveryCodes, newSecret, recoveryHash } from './totp.ts'

export const wrongCode = defineCode('two_factor_code_wrong', 422, 3)
export const noFactor = defineCode('two_factor_not_found', 404, 8)

const closed = { additionalProperties: false }
const noneOf = (userId: string) => new Fault(noFactor, `user ${userId} has no second factor`)

const enroll = defineRoute({
  method: 'POST',
  url: '/v1/users/me/two-factor',
  action: 'two-factor.enroll',
  access: 'self',
  status: 201,
  summary: 'Creates the secret for an authenticator app. It is asked for once a code has confirmed it.',
  secrets: ['secret', 'uri'],
  schema: () => ({ reply: Type.Object({ secret: Type.String(), uri: Type.String() }), errors: [] }),
  async run({ secrets }: Deps, { principal: { userId }, change }) {
    const secret = newSecret()
    await change({ kind: 'user', id: userId }, async em => {
      const sealed = await secrets.seal(secret, contextOf(userId), em)
      await em.upsert(Factor, { userId, secret: sealed, isActive: false, lastStep: 0, recovery: [] })
    })
    return { secret, uri: `otpauth://totp/sluice:${userId}?secret=${secret}&issuer=sluice` }
  }
})

const confirm = defineRoute({
  method: 'POST',
  url: '/v1/users/me/two-factor/confirm',
  action: 'two-factor.confirm',
  access: 'self',
  summary: 'Activates the second factor, ends all sessions, and returns the recovery codes once.',
  secrets: ['recovery_codes'],
  schema: () => ({
    body: Type.Object({ code: Type.String({ maxLength: 16, examples: ['123456'] }) }, closed),
    reply: Type.Object({ recovery_codes: Type.Array(Type.String()) })
  }),
  async run(deps: Deps, { body, principal: { userId }, change }) {
    const codes = newRecoveryCodes()
    await change({ kind: 'user', id: userId }, async em => {
      const factor = await em.findOne(Factor, { userId, isActive: false })
      if (!factor) throw noneOf(userId)
      if (!(await useCode(factor, body.code, deps, em)))
        throw new Fault(wrongCode, 'the code is wrong; check the clock of your device, and try the next code')
      await em.nativeUpdate(Factor, { userId }, { isActive: true, recovery: codes.map(recoveryHash) })
      await deps.signIn.endAll(em, userId)
    })
    return { recovery_codes: codes }
  }
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:user_id/two-factor',
  action: 'two-factor.remove',
  access: 'superadmin',
  status: 204,
  summary: 'Removes the second factor of a user, and ends the sessions.',
  schema: () => ({
    params: Type.Object({ user_id: Type.String({ maxLength: 32, examples: ['ann'] }) }),
    reply: Type.Void(),
    errors: [noFactor]
  }),
  run: ({ signIn }: Deps, { params: { user_id: userId }, change }) =>
    change({ kind: 'user', id: userId }, async em => {
      if ((await em.nativeDelete(Factor, { userId })) === 0) throw noneOf(userId)
      await signIn.endAll(em, userId)
    })
})

export const routes = [enroll, confirm, remove]

export const command = defineCommand({
  name: 'two-factor remove',
  summary: 'Remove the second factor of a user, for example after the loss of a phone.',
  args: Type.Object({ user: Type.String({ description: 'Id of the user.' }) }),
  positional: ['user'],
  async run({ api, args: { user }, print }) {
    await api.send('DELETE', `/v1/users/${encodeURIComponent(user)}/two-factor`)
    print.done(`The second factor of ${user} is removed.`, { user_id: user })
  }
})
