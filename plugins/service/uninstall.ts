import { readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { Fault, notFound, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { loadedUnitFile, systemctl } from './systemctl.ts'
import type { Role } from './unit.ts'

/** Returns the files that stay after an uninstall. */
export const remainingPaths = (role: Role): string[] => [
  role === 'server' ? '/var/lib/sluice' : '/var/lib/sluice-agent',
  `/etc/sluice/${role}.env`
]

/** Throws Fault if the file does not exist, or if `service install` did not write it. */
export function requireOwnUnit(file: string, role: Role): void {
  const text = read(file)
  if (text === null) throw new Fault(notFound, `there is no ${file}; give --unit-dir if it is elsewhere`)
  if (!text.includes(`\nDescription=sluice ${role}: `))
    throw new Fault(wrongUsage, `sluice service install did not write ${file}: remove it manually`)
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null // what readFileSync throws
    throw new Fault(wrongUsage, `${file} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}

/** Removes the unit. If systemd has loaded this file, stops and disables the service first. */
export function removeUnit(file: string): { readonly isStopped: boolean } {
  const unit = basename(file)
  const isLoaded = loadedUnitFile(unit) === file
  if (isLoaded) systemctl('disable', '--now', unit)
  try {
    rmSync(file)
  } catch (cause) {
    throw new Fault(wrongUsage, `${file} cannot be removed: ${reasonOf(cause)}; run the command as root`, {
      cause
    })
  }
  if (isLoaded) systemctl('daemon-reload')
  return { isStopped: isLoaded }
}
