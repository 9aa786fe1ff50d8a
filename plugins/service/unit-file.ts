// The file of a unit: where it is, and what `service install` and `agent join` write into it.
import { accessSync, constants, existsSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { loadModule } from '../../native/load.ts'
import { formatUnit, type Notifies, type Role, type Unit } from './unit.ts'

/** The option --unit-dir. */
export const unit_dir = Type.Optional(
  Type.String({ description: 'Directory of the unit; default: /etc/systemd/system.' })
)

export const unitFile = (role: Role, dir = '/etc/systemd/system'): string =>
  join(pathArgument('--unit-dir', dir), `sluice-${role}.service`)

/** Returns the configuration that a package has installed, for units without another one. */
export function presentConfig(role: Role): string | undefined {
  const file = `/etc/sluice/${role}.toml`
  return existsSync(file) ? file : undefined
}

export const programPath = (): string => process.argv[1] ?? ''

export const unitText = (unit: Unit): string =>
  formatUnit(unit, [process.argv[0] ?? process.execPath, realpathSync(programPath())])

/** A service can feed a watchdog only with the native addon. */
export const ownNotifies = (): Notifies => (loadModule().ok ? 'itself' : 'systemd-notify')

export function writeUnit(file: string, unit: Unit): void {
  try {
    writeFileSync(file, unitText(unit), { mode: 0o644 })
  } catch (cause) {
    throw new Fault(
      wrongUsage,
      `${file} cannot be written: ${reasonOf(cause)}; run the command as root, or use --print`,
      { cause }
    )
  }
}

export function mayWrite(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK)
    return true
  } catch {
    return false // accessSync throws only for this
  }
}
