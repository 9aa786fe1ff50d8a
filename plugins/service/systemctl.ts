import { spawnSync } from 'node:child_process'
import { Fault, internal, reasonOf } from '../../kernel/base/errors.ts'

/** Runs systemctl. Throws Fault with its message. */
export function systemctl(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('systemctl', args, { encoding: 'utf8' })
  if (status !== 0)
    throw new Fault(internal, `systemctl ${args.join(' ')}: ${error ? reasonOf(error) : stderr.trim()}`)
}

/** Returns the file of a unit that systemd knows, or null. */
export function loadedUnitFile(unit: string): string | null {
  const { status, stdout } = spawnSync('systemctl', ['show', '--property=FragmentPath', '--value', unit], {
    encoding: 'utf8'
  })
  return (status === 0 && stdout.trim()) || null
}

/** False without systemd, and in a container or chroot with another init program. */
export function isSystemdRunning(): boolean {
  const { stdout, error } = spawnSync('systemctl', ['is-system-running'], { encoding: 'utf8' })
  return !error && !/^(offline|unknown)?$/.test(stdout.trim())
}
