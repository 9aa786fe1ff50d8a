// Runs the server and the agent of an installed package with the commands and users of their systemd units.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Debian } from './debian.ts'
import type { Machine } from './machine.ts'

export function machineOf({ dir, prefix }: Debian): Machine {
  const as = (user: string): string[] => ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups']
  return {
    prefix,
    sluice: ['sluice'],
    serverDir: '/var/lib/sluice',
    agentDir: '/var/lib/sluice-agent',
    services: {
      server: [...as('sluice'), ...startOf(dir, 'server')],
      agent: [...as('sluice-agent'), ...startOf(dir, 'agent')]
    }
  }
}

/** Returns the command of a unit. */
function startOf(dir: string, role: string): string[] {
  const unit = readFileSync(join(dir, `usr/lib/systemd/system/sluice-${role}.service`), 'utf8')
  const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? []
  return command.split(' ')
}
