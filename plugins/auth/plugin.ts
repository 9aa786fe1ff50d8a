import { asFunction } from 'awilix'
import { authenticatorSlot } from '../../kernel/http/principal.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { creationSlot, disableSlot, removalSlot, rowFieldSlot, type Users } from '../users/exports.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { openLogin } from './login.ts'
import { openOnboarding } from './onboarding.ts'
import { type HashPool, openHashPool } from './password/hash-pool.ts'
import { openPasswords } from './password/passwords.ts'
import { openRecovery } from './password/recovery.ts'
import { revocations } from './revocations.ts'
import { type RouteDeps, routes } from './routes.ts'
import { openSessionAuthenticator, openSessions } from './session/sessions.ts'
import { openSignIn } from './session/sign-in.ts'
import { store } from './store.ts'
import { sweepExpired } from './sweep-expired.ts'
import { type Attempts, openAttempts } from './throttle/attempts.ts'
import { type KnownAddresses, openKnownAddresses } from './throttle/known-addresses.ts'
import { openResetLimit, type ResetLimit } from './throttle/reset-limit.ts'
import { openRunningTime, type RunningTime } from './throttle/running-time.ts'
import { openThrottle, type Throttle } from './throttle/throttle.ts'
import { changeRequired, initialPassword, removal } from './user-fills.ts'

interface Deps extends RouteDeps {
  readonly users: Users
  readonly hashPool: HashPool
  readonly runningTime: RunningTime
  readonly knownAddresses: KnownAddresses
  readonly throttle: Throttle
  readonly attempt: Attempts
  readonly resetLimit: ResetLimit
}

export default definePlugin<Deps>({
  name: 'auth',
  version: '1.0.0',
  description: 'Passwords, web sessions, and the first administrator.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  codes: Object.values(codes),
  store,
  exports: {
    signIn: asFunction(openSignIn).singleton(),
    setup: asFunction(({ onboarding }: Deps) => onboarding).singleton()
  },
  services: {
    hashPool: asFunction(() => openHashPool()).singleton(),
    runningTime: asFunction(openRunningTime).singleton(),
    knownAddresses: asFunction(openKnownAddresses).singleton(),
    throttle: asFunction((deps: Deps) => openThrottle(deps)).singleton(),
    attempt: asFunction((deps: Deps) => openAttempts(deps)).singleton(),
    sessions: asFunction(openSessions).singleton(),
    passwords: asFunction(openPasswords).singleton(),
    login: asFunction(openLogin).singleton(),
    onboarding: asFunction(openOnboarding).singleton(),
    resetLimit: asFunction(openResetLimit).singleton(),
    recovery: asFunction(openRecovery).singleton()
  },
  fills: [
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
    const { store, clock, control, sessions, runningTime, onboarding } = deps
    await runningTime.start(defer)
    await store.change(sessions.redate)
    defer(clock.every(60 * 60_000, () => control.servers.onOne('auth.sweep', () => sweepExpired(deps))))
    await onboarding.announce()
  }
})
