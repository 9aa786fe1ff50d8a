import { mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { dataDirUnusable, Fault, insecurePermissions, reasonOf } from './errors.ts'

/** Returns the first of STATE_DIRECTORY, which systemd sets, or a directory in the user's state folder. Ignores empty values. */
export function defaultDir(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const [given] = (env['STATE_DIRECTORY'] ?? '').split(':')
  if (given !== undefined && isAbsolute(given)) return given
  const state = env['XDG_STATE_HOME'] ?? '' // the XDG specification forbids relative paths
  return join(isAbsolute(state) ? state : join(env['HOME'] || homedir(), '.local', 'state'), name)
}

/** Makes a directory for its owner only. Throws Fault if it exists with wider permissions. `key` is its configuration key. */
export function makePrivateDir(
  dir: string,
  key: string,
  make: (dir: string) => unknown = mkdirPrivate
): void {
  try {
    make(dir)
    const { mode = 0 } = statSync(dir, { throwIfNoEntry: false }) ?? {}
    if (process.platform === 'win32' || (mode & 0o066) === 0) return
  } catch (cause) {
    throw new Fault(dataDirUnusable, `${key} ${dir} cannot be used: ${reasonOf(cause)}`, { cause })
  }
  throw new Fault(
    insecurePermissions,
    `others may read or write ${dir}; run: chmod 700 ${dir}, or give another ${key}`
  )
}

const mkdirPrivate = (dir: string) => mkdirSync(dir, { recursive: true, mode: 0o700 })

/** Throws if other users may read a file with secrets. */
export function requirePrivateFile(file: string, what: string): void {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Fault(
      insecurePermissions,
      `${file} holds ${what} and others may read it; run: chmod 600 ${file}`
    )
}
