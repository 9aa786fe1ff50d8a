// Counts and logs sign-ins that fail, and logs logouts that do not reach the provider.
import { Fault, reasonOf } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SignIn } from '../../auth/exports.ts'

const quietMs = 10_000 // anybody can make a sign-in fail

export interface SignInLog {
  /** Logs `oidc.failed`, at most every 10 s for a provider and a code. */
  failed(provider: string, error: unknown): void
  /** Logs the same event for a logout. */
  logoutFailed(provider: string, error: Fault): void
}

interface Deps extends Pick<Kernel, 'log' | 'clock'> {
  readonly signIn: Pick<SignIn, 'count'>
}

export function openSignInLog({ log, clock, signIn }: Deps): SignInLog {
  const loggedAt = new Map<string, number>() // by provider and code

  function warn(what: string, provider: string, error: Fault): void {
    const { code } = error.errorCode
    const key = `${provider} ${code}`
    const now = clock.monotonic()
    if (now - (loggedAt.get(key) ?? -Infinity) < quietMs) return
    loggedAt.set(key, now)
    const reason = reasonOf(error.cause ?? error)
    log.warn('oidc.failed', `a ${what} at ${provider} failed: ${reason}`, { provider, code })
  }

  return {
    failed(provider, error) {
      if (!(error instanceof Fault)) return
      signIn.count('oidc', error.errorCode)
      warn('sign-in', provider, error)
    },
    logoutFailed: (provider, error) => warn('logout', provider, error)
  }
}
