import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { reasonOf } from '../../base/errors.ts'

export type Half = 'plugin' | 'agent'

/** Returns the file of a half, or throws. A path names a folder with plugin.ts or agent.ts (or .js), or its plugin file. */
export function resolvePlugin(specifier: string, half: Half, baseDir: string): string {
  if (!specifier.startsWith('.') && !isAbsolute(specifier)) return resolvePackage(specifier, half, baseDir)
  const path = resolve(baseDir, specifier)
  const isFolder = existsSync(path) && statSync(path).isDirectory()
  const folder = isFolder ? path : join(path, '..')
  const names =
    half === 'plugin' && !isFolder ? [path] : ['ts', 'js'].map(end => join(folder, `${half}.${end}`))
  const found = names.find(existsSync)
  if (found === undefined) throw new Error(`there is no ${names.join(' or ')}`)
  return found
}

/** Returns the file of a half of an npm package, which exports its halves as ./plugin and ./agent. */
function resolvePackage(name: string, half: Half, baseDir: string): string {
  try {
    return createRequire(join(baseDir, 'noop.js')).resolve(`${name}/${half}`)
  } catch (cause) {
    const message = `no built-in plugin has this name, and no package ${name}/${half} is installed`
    throw new Error(message, { cause })
  }
}

/** Returns the file of a half like `resolvePlugin`, or null if the plugin does not have that half. */
export function findHalf(specifier: string, half: Half, baseDir: string): string | null {
  try {
    return resolvePlugin(specifier, half, baseDir)
  } catch (error) {
    if (isDangling(error))
      throw new Error(`package ${specifier} exports ./${half}, but not its file: ${reasonOf(error.cause)}`, {
        cause: error
      })
    return null
  }
}

/** True if the package is installed but exports a file that does not exist. */
const isDangling = (error: unknown): error is Error =>
  error instanceof Error && Object(error.cause).code === 'MODULE_NOT_FOUND' && 'path' in Object(error.cause)
