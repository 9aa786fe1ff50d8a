// Notifies systemd where the native addon does not load: Node has no datagram sockets for Unix paths.
import { execFile } from 'node:child_process'
import { reasonOf } from '../../../kernel/base/errors.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Notifier } from './notifier.ts'
import type { Supervisor } from './supervisor.ts'

const timeoutMs = 10_000

/** Runs systemd-notify for READY and STOPPING only, and disables the watchdog: a process for each beat would cost too much. */
export function openCommandNotifier({ address, watchdogMs }: Supervisor, log: Log): Notifier {
  const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: address }
  let told = ''

  function tell(...states: readonly string[]): void {
    const [state = ''] = states
    if (told === state) return // READY after a reload
    told = state
    execFile('systemd-notify', states, { env, timeout: timeoutMs }, error => {
      if (!error) return
      log.warn('service.not_notified', `systemd-notify ${state} failed: ${reasonOf(error)}`, {
        reason: 'systemd-notify'
      })
    })
  }

  const noWatchdog = watchdogMs === null ? [] : ['WATCHDOG_USEC=0']
  return {
    ready: () => tell('READY=1', ...noWatchdog),
    reloading() {},
    stopping: () => tell('STOPPING=1'),
    status() {},
    close() {}
  }
}
