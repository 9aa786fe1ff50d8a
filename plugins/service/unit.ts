// Fills in the template of a systemd unit from config/deploy. Server and agent have the same sandbox.
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'

export type Role = 'server' | 'agent'

/** How the program reports its state to systemd: 'itself', with the native addon, or by the program 'systemd-notify'. */
export type Notifies = 'itself' | 'systemd-notify'

export interface Unit {
  readonly role: Role
  readonly user: string | null // null: allocated by systemd
  readonly configFile: string | null
  readonly notifies: Notifies
}

const notify: Readonly<Record<Notifies, string>> = {
  itself: `
Type=notify
NotifyAccess=main
# The event loop reports twice in this time that it runs. A server or agent that hangs is restarted.
WatchdogSec=30s
# The default, SIGABRT, would write a core dump, which contains secrets.
WatchdogSignal=SIGKILL`.trim(),
  // The sender is a child process. Without the native addon nothing can feed a watchdog.
  'systemd-notify': `
Type=notify
NotifyAccess=all`.trim()
}

// Omits MemoryDenyWriteExecute, because V8 compiles code, and PrivateUsers, because it prevents ports below 1024.
const sandbox = `
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateDevices=yes
DevicePolicy=closed
PrivateMounts=yes
PrivateTmp=yes
LockPersonality=yes
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
UMask=0077`.trim()

/** Returns a unit that starts a program. The second argument is the start of its process.argv, with absolute paths. */
export function formatUnit(
  { role, user, configFile, notifies }: Unit,
  [node = '', program = '']: readonly string[]
): string {
  if (user !== null && !/^[a-z_][a-z0-9_-]{0,31}$/.test(user))
    throw new Fault(wrongUsage, `${JSON.stringify(user)} is not a valid name of a system user`)
  const values: Readonly<Record<string, string>> = {
    EXEC: [node, program].map(quote).join(' '),
    ARGS: configFile === null ? '' : ` --config ${quote(configFile)}`,
    USER: user === null ? 'DynamicUser=yes' : `User=${user}\nGroup=${user}`,
    NOTIFY: notify[notifies],
    SANDBOX: sandbox
  }
  const [, ...lines] = template(role).split('\n') // without the comment about the template
  return lines.join('\n').replaceAll(/@([A-Z]+)@/g, (_, key: string) => values[key] ?? '')
}

/** True for a program that ProtectHome hides from the service. */
export const isHidden = (program: string): boolean => /^\/(home|root|run\/user)\//.test(realpathSync(program))

/** Quotes a word for systemd, and escapes its specifiers (%) and variables ($). */
const quote = (word: string): string => {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w./:@%+=-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`
}

/** The folder config/ is two levels up in a checkout, and three in the published build. */
function template(role: Role): string {
  for (const up of ['../..', '../../..']) {
    try {
      return readFileSync(join(import.meta.dirname, up, 'config/deploy', `sluice-${role}.service`), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // what readFileSync throws
    }
  }
  throw new TypeError('the package has no systemd units')
}
