// A second factor at the sign-in: codes of an authenticator app, and recovery codes.
import { auth, definePlugin, Type, users } from 'sluice/plugin'
import { Factor } from './entities.ts'
import { type Deps, step } from './factors.ts'
import { TwoFactor0001 } from './migrations/0001-two-factor.ts'
import { command, noFactor, routes, wrongCode } from './routes.ts'

export default definePlugin<Deps>({
  name: 'two-factor',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { auth: '^1.1.0', secrets: '^1.0.0', users: '^1.0.0' },
  codes: [wrongCode, noFactor],
  store: { entities: [Factor], migrations: [{ name: '0001-two-factor', class: TwoFactor0001 }] },
  fills: [
    auth.stepSlot.fillWith(step),
    users.rowFieldSlot.fill({
      key: 'two_factor',
      schema: Type.Boolean({ description: 'The user needs a code to sign in.' }),
      defaultValue: false,
      async load(userIds, em) {
        const found = await em.find(Factor, { userId: { $in: [...userIds] }, isActive: true })
        return new Map(found.map(({ userId }) => [userId, true]))
      }
    }),
    users.removalSlot.fill({
      async remove({ id }, em) {
        await em.nativeDelete(Factor, { userId: id })
        return { ids: [] }
      }
    })
  ],
  routes,
  commands: [command]
})
