import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import { loadModule } from '../../../native/load.ts'
import { openCommandNotifier } from './command-notifier.ts'
import { type Notifier, openNotifier } from './notifier.ts'
import type { Supervisor } from './supervisor.ts'

/** Uses the native addon, or systemd-notify where the addon does not load. */
export function notifierOf(
  supervisor: Supervisor,
  { clock, log }: { readonly clock: Clock; readonly log: Log }
): Notifier {
  const native = loadModule()
  if (native.ok) {
    const { module } = native
    const send = (text: string): string => module.notify(supervisor.address, text)
    return openNotifier({ send, watchdogMs: supervisor.watchdogMs, clock, log })
  }
  log.warn('service.no_watchdog', `systemd-notify reports the state, without a watchdog: ${native.reason}`)
  return openCommandNotifier(supervisor, log)
}
