import type { Kernel } from '../../kernel/plugin.ts'
import type { Sessions } from './session/sessions.ts'
import type { Tickets } from './steps/tickets.ts'
import type { Throttle } from './throttle/throttle.ts'

interface Services extends Pick<Kernel, 'store' | 'log'> {
  readonly sessions: Sessions
  readonly throttle: Throttle
  readonly tickets: Tickets
}

/** Deletes expired sessions, tickets and failure counts. Logs an error instead of rejecting: the next run retries. */
export const sweepExpired = ({ store, log, sessions, throttle, tickets }: Services): Promise<void> =>
  store
    .change(async em => {
      await sessions.sweep(em)
      await throttle.sweep(em)
      await tickets.sweep(em)
    })
    .catch(error => log.error('auth.sweep_failed', String(error)))
