/** The service manager that started this process and expects notifications, such as systemd: see sd_notify(3). */
export interface Supervisor {
  readonly address: string // of its Unix socket: a path, or @ and the name of an abstract socket
  readonly watchdogMs: number | null // it ends the process after this time without WATCHDOG=1; null: never
}

const own: { supervisor?: Supervisor | null } = {}

/** Returns the supervisor of this process, or null. The first call removes its variables from the environment. */
export function ownSupervisor(): Supervisor | null {
  own.supervisor ??= takeSupervisor(process.env, process.pid)
  return own.supervisor
}

/** Removes the variables, so that a child process cannot speak for this one. */
export function takeSupervisor(env: NodeJS.ProcessEnv, pid: number): Supervisor | null {
  const { NOTIFY_SOCKET: address, WATCHDOG_USEC: usec = '', WATCHDOG_PID: watched = `${pid}` } = env
  if (!address) return null
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name]
  const isWatched = watched === `${pid}` && /^\d{1,15}$/.test(usec) && Number(usec) > 0
  return { address, watchdogMs: isWatched ? Number(usec) / 1000 : null }
}
