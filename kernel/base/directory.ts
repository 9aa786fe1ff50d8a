// Directories and files of server and agent: where they are by default, and that only their owner can use them.
import { mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { dataDirUnusable, Fault, insecurePermissions, reasonOf } from './errors.ts'

/** STATE_DIRECTORY is set by systemd and may list several. An empty name is no name, never the current directory. */
export function defaultDir(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const [given] = (env['STATE_DIRECTORY'] ?? '').split(':')
  if (given) return given
  const state = env['XDG_STATE_HOME'] ?? '' // a relative one is invalid, says the XDG specification
  return join(isAbsolute(state) ? state : join(env['HOME'] || homedir(), '.local', 'state'), name)
}

/** Makes a directory for its owner only; one that exists keeps its mode. `key` is of the configuration. Throws Fault. */
export function makePrivateDir(dir: string, key: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    if (process.platform === 'win32' || (statSync(dir).mode & 0o066) === 0) return
  } catch (cause) {
    throw new Fault(dataDirUnusable, `${key} ${dir} cannot be used: ${reasonOf(cause)}`, { cause })
  }
  throw new Fault(
    insecurePermissions,
    `others may read or write ${dir}; run: chmod 700 ${dir}, or give another ${key}`
  )
}

/** Throws when other users may read a file with secrets. */
export function requirePrivateFile(file: string, what: string): void {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Fault(
      insecurePermissions,
      `${file} holds ${what} and others may read it; run: chmod 600 ${file}`
    )
}
