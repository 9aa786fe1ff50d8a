// A unit of systemd from its template in config/: the same sandbox for both halves.
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'

export type Role = 'server' | 'agent'

export interface Unit {
  readonly role: Role
  readonly user: string | null // null: one of systemd's own making
  readonly configFile: string | null
}

// Not here: MemoryDenyWriteExecute, for V8 compiles; PrivateUsers, in which a port below 1024 cannot be bound.
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

/** `argv` as in process.argv: the program that runs now is the one that shall be started. */
export function unitOf(
  { role, user, configFile }: Unit,
  [node = '', program = '']: readonly string[]
): string {
  if (user !== null && !/^[a-z_][a-z0-9_-]{0,31}$/.test(user))
    throw new Fault(wrongUsage, `${JSON.stringify(user)} is no name of a system user`)
  const words: Readonly<Record<string, string>> = {
    EXEC: [node, realpathSync(program)].map(quote).join(' '),
    ARGS: configFile === null ? '' : ` --config ${quote(configFile)}`,
    USER: user === null ? 'DynamicUser=yes' : `User=${user}\nGroup=${user}`,
    SANDBOX: sandbox
  }
  const [, ...lines] = template(role).split('\n') // without the remark on the template
  return lines.join('\n').replaceAll(/@([A-Z]+)@/g, (_, word: string) => words[word] ?? '')
}

/** Where the unit's user may not look: ProtectHome hides it. */
export const isHidden = (program: string): boolean => /^\/(home|root|run\/user)\//.test(realpathSync(program))

/** As systemd splits a command line; its own specifiers stay words. */
const quote = (word: string): string => {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w./:@%+=-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`
}

/** In a checkout the folder lies two above, in the published build a folder higher. */
function template(role: Role): string {
  for (const up of ['../..', '../../..']) {
    try {
      return readFileSync(join(import.meta.dirname, up, 'config/deploy', `sluice-${role}.service`), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // what readFileSync throws
    }
  }
  throw new TypeError('the package lacks its units')
}
