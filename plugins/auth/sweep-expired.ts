// Deletes sessions and failures of sign-in that have expired.
import type { Kernel } from '../../kernel/plugin.ts'
import type { openSessions } from './sessions.ts'
import type { Throttle } from './throttle.ts'

interface Services extends Pick<Kernel, 'store' | 'log'> {
  readonly sessions: ReturnType<typeof openSessions>
  readonly throttle: Throttle
}

/** Resolves also where it failed: the next hour tries again. */
export const sweepExpired = ({ store, log, sessions, throttle }: Services): Promise<void> =>
  store
    .change(async em => {
      await sessions.sweep(em)
      await throttle.sweep(em)
    })
    .catch(error => log.error('auth.sweep_failed', String(error)))
