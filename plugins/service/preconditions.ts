// Checks to run before writing a unit, because systemd would restart a failing service forever.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { readConfigFile } from '../../kernel/platform/config-file.ts'
import { firstFreePort } from '../../kernel/platform/low-port.ts'
import { isHidden, type Role, type Unit } from './unit.ts'

/** Throws Fault if the user does not exist, or if the service could not read or parse the configuration. */
export function requireStartable({ role, user, configFile }: Unit, program: string): void {
  requireVisible(program, 'install sluice for all users, for example with npm install -g')
  const uid = user === null ? null : uidOf(user)
  if (configFile === null) return
  requireStateDir(role, readConfigFile(configFile).table)
  requireVisible(configFile, 'put it into /etc/sluice')
  requireReadable(configFile, uid)
}

function requireVisible(path: string, remedy: string): void {
  if (isHidden(path)) throw new Fault(wrongUsage, `the unit cannot see ${path} (ProtectHome); ${remedy}`)
}

const stateOf = {
  server: { key: 'data_dir', own: '/var/lib/sluice' },
  agent: { key: 'state_dir', own: '/var/lib/sluice-agent' }
} as const

/** The unit may write to its own state directory only, which is the default of the key. */
function requireStateDir(role: Role, table: Readonly<Record<string, unknown>>): void {
  const { key, own } = stateOf[role]
  const given = table[key]
  if (given === undefined || given === '' || `${resolve(String(given))}/`.startsWith(`${own}/`)) return
  throw new Fault(
    wrongUsage,
    `the unit cannot write to ${key} ${given}: move the directory to ${own}, and set ${key} to that or remove it`
  )
}

function uidOf(user: string): number {
  const { status, stdout, error } = spawnSync('id', ['-u', '--', user], { encoding: 'utf8' })
  if (status === 0) return Number(stdout)
  if (error)
    throw new Fault(wrongUsage, `the user ${user} cannot be looked up: ${reasonOf(error)}`, { cause: error })
  throw new Fault(
    wrongUsage,
    `there is no user ${user}: run useradd --system ${user}, or omit --user to let systemd allocate one`
  )
}

/** `uid` null: a user allocated by systemd, which owns no files. */
function requireReadable(file: string, uid: number | null): void {
  if (uid === 0) return
  const isOpenTo = (path: string, bit: number): boolean => {
    const { mode, uid: owner } = statSync(path)
    return (mode & (owner === uid ? bit << 6 : bit)) !== 0
  }
  for (let dir = dirname(file); dir !== dirname(dir); dir = dirname(dir))
    if (!isOpenTo(dir, 0o1))
      throw new Fault(wrongUsage, `the user of the service cannot enter ${dir}: run chmod o+x ${dir}`)
  if (!isOpenTo(file, 0o4))
    throw new Fault(
      wrongUsage,
      `the user of the service cannot read ${file}: run chmod o+r ${file}, and put secrets into /etc/sluice/*.env`
    )
}

/** Returns the listeners of the service that need a capability for a low port. */
export function lowPorts(role: Role, configFile: string | null): string[] {
  const first = firstFreePort()
  const table = configFile === null ? {} : readConfigFile(configFile).table
  const listeners = Object.entries(table)
    .filter(([key, value]) => key.endsWith('_listen') && Number(String(value).split(':').at(-1)) < first)
    .map(([key, value]) => `${key} ${value}`)
  const rules = role === 'agent' ? [`rules on ports below ${first}`] : []
  return [...listeners, ...rules]
}
