// The private services of the plugin.
import { asFunction } from 'awilix'
import type { Users } from '../users/exports.ts'
import { openLogin } from './login.ts'
import { openOnboarding } from './onboarding.ts'
import { type HashPool, openHashPool } from './password/hash-pool.ts'
import { type Keys, openPasswordPolicy, type PasswordPolicy } from './password/password-policy.ts'
import { openPasswords } from './password/passwords.ts'
import { openRecovery } from './password/recovery.ts'
import type { RouteDeps } from './routes.ts'
import type { Factors } from './session/factors.ts'
import { openReauthenticate, type Reauthenticate } from './session/reauthenticate.ts'
import { openSessionRules, type SessionRules } from './session/session-rule.ts'
import { openSessions } from './session/sessions.ts'
import { openSignInCounts, type SignInCounts } from './session/sign-in-counts.ts'
import { openSignInNotice, type SignInNotice } from './session/sign-in-notice.ts'
import { openAnswerStep } from './steps/answer-step.ts'
import { openSteps, type Steps } from './steps/steps.ts'
import { openTickets, type Tickets } from './steps/tickets.ts'
import { type Attempts, openAttempts } from './throttle/attempts.ts'
import { type KnownAddresses, openKnownAddresses } from './throttle/known-addresses.ts'
import { openResetLimit, type ResetLimit } from './throttle/reset-limit.ts'
import { openRunningTime, type RunningTime } from './throttle/running-time.ts'
import { openStepLimit, type StepLimit } from './throttle/step-limit.ts'
import { openThrottle, type Throttle } from './throttle/throttle.ts'

/** The services of the plugin's container. */
export interface Deps extends RouteDeps {
  readonly config: Keys
  readonly passwordPolicy: PasswordPolicy
  readonly users: Users
  readonly hashPool: HashPool
  readonly runningTime: RunningTime
  readonly knownAddresses: KnownAddresses
  readonly throttle: Throttle
  readonly attempt: Attempts
  readonly resetLimit: ResetLimit
  readonly tickets: Tickets
  readonly stepLimit: StepLimit
  readonly factors: Factors
  readonly sessionRules: SessionRules
  readonly reauthenticate: Reauthenticate
  readonly steps: Steps
  readonly signInNotice: SignInNotice
  readonly signInCounts: SignInCounts
}

export const services = {
  hashPool: asFunction(() => openHashPool()).singleton(),
  runningTime: asFunction(openRunningTime).singleton(),
  knownAddresses: asFunction(openKnownAddresses).singleton(),
  throttle: asFunction((deps: Deps) => openThrottle(deps)).singleton(),
  attempt: asFunction((deps: Deps) => openAttempts(deps)).singleton(),
  stepLimit: asFunction(openStepLimit).singleton(),
  sessionRules: asFunction(openSessionRules).singleton(),
  tickets: asFunction(openTickets).singleton(),
  sessions: asFunction(openSessions).singleton(),
  signInNotice: asFunction(openSignInNotice).singleton(),
  signInCounts: asFunction(openSignInCounts).singleton(),
  steps: asFunction(openSteps).singleton(),
  passwords: asFunction(openPasswords).singleton(),
  passwordPolicy: asFunction(openPasswordPolicy).singleton(),
  login: asFunction(openLogin).singleton(),
  answerStep: asFunction(openAnswerStep).singleton(),
  reauthenticate: asFunction(openReauthenticate).singleton(),
  onboarding: asFunction(openOnboarding).singleton(),
  resetLimit: asFunction(openResetLimit).singleton(),
  recovery: asFunction(openRecovery).singleton()
}
