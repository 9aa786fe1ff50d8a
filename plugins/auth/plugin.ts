import { asFunction } from 'awilix'
import { authenticatorSlot } from '../../kernel/http/principal.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { noticeKind } from '../http/exports.ts'
import { creationSlot, disableSlot, removalSlot, rowFieldSlot } from '../users/exports.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { keys, otherSignInSlot } from './password/password-policy.ts'
import { revocations } from './revocations.ts'
import { routes } from './routes.ts'
import { type Deps, services } from './services.ts'
import { factorsSlot, openFactors } from './session/factors.ts'
import { providerLogoutSlot } from './session/provider-logout.ts'
import { sessionRuleSlot } from './session/session-rule.ts'
import { openSessionAuthenticator } from './session/sessions.ts'
import { openSignIn } from './session/sign-in.ts'
import { stepSlot } from './steps/step-slot.ts'
import { store } from './store.ts'
import { sweepExpired } from './sweep-expired.ts'
import { changeRequired, initialPassword, removal } from './user-fills.ts'

export default definePlugin<Deps>({
  name: 'auth',
  version: '1.1.0',
  description: 'Passwords, web sessions, and the first administrator.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  keys,
  codes: Object.values(codes),
  store,
  exports: {
    signIn: asFunction(openSignIn).singleton(),
    factors: asFunction(openFactors).singleton(),
    setup: asFunction(({ onboarding }: Deps) => onboarding).singleton()
  },
  services,
  slots: [stepSlot, sessionRuleSlot, factorsSlot, otherSignInSlot, providerLogoutSlot],
  fills: [
    noticeKind('superadmin_sign_in', ({ signInNotice }: Deps) => signInNotice.source),
    metricsSlot.fillWith(({ signInCounts }: Deps) => signInCounts.metrics),
    authenticatorSlot.fillWith((deps: Deps) => openSessionAuthenticator(deps)),
    rowFieldSlot.fill(changeRequired),
    creationSlot.fillWith((deps: Deps) => initialPassword(deps)),
    removalSlot.fillWith((deps: Deps) => removal(deps)),
    disableSlot.fillWith(({ sessions }: Deps) => async ({ id }, em) => {
      await sessions.endAll(em, id)
    }),
    ...revocations
  ],
  routes,
  commands,
  async start({ deps, defer }) {
    const { store, clock, control, sessions, steps, runningTime, onboarding, passwordPolicy } = deps
    steps.check()
    await passwordPolicy.check()
    await runningTime.start(defer)
    await store.change(sessions.redate)
    defer(clock.every(60 * 60_000, () => control.servers.onOne('auth.sweep', () => sweepExpired(deps))))
    await onboarding.announce()
  }
})
