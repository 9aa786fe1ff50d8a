import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { factorsSlot, sessionRuleSlot, stepSlot } from '../auth/exports.ts'
import { removalSlot, rowFieldSlot } from '../users/exports.ts'
import { openAuthenticators } from './authenticators.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { revocations } from './revocations.ts'
import { type RouteDeps, routes } from './routes.ts'
import { sessionRule } from './session-rule.ts'
import { type Keys, keys } from './settings.ts'
import { signInStep } from './sign-in-step.ts'
import { store } from './store.ts'
import { removal, secondFactors } from './user-fills.ts'

type Deps = RouteDeps & { readonly config: Keys }

export default definePlugin<Deps>({
  name: 'second-factor',
  version: '1.0.0',
  description: 'Second factors of people: codes of an authenticator app, recovery codes, and fresh sessions.',
  kernel: '^2.0.0',
  needs: { auth: '^1.1.0', http: '^1.0.0', secrets: '^1.0.0', users: '^1.0.0' },
  keys,
  codes: Object.values(codes),
  store,
  services: { authenticators: asFunction(openAuthenticators).singleton() },
  fills: [
    stepSlot.fillWith((deps: Deps) => signInStep(deps)),
    sessionRuleSlot.fillWith((deps: Deps) => sessionRule(deps)),
    factorsSlot.fillWith(({ authenticators }: Deps) => authenticators),
    rowFieldSlot.fillWith((deps: Deps) => secondFactors(deps)),
    removalSlot.fillWith((deps: Deps) => removal(deps)),
    ...revocations
  ],
  routes,
  commands
})
