// `plugins.lock` beside the configuration records hashes of every external plugin and its dependencies. Changed code does not
// run until the operator trusts it.
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'
import { hashPlugin, readManifest } from './plugin-files.ts'

const TrustedPlugin = Type.Object({
  name: Type.String(),
  version: Type.String(),
  sha256: Type.String(),
  dependencies: Type.Optional(Type.Record(Type.String(), Type.String()))
})
export type TrustedPlugin = Readonly<Static<typeof TrustedPlugin>>

const Lock = Type.Record(Type.String(), TrustedPlugin)

export const lockFileIn = (baseDir: string): string => join(baseDir, 'plugins.lock')

/** Returns the record of a plugin, or null before its first load. Throws if files have changed, or if others can change them. */
export function findTrusted(specifier: string, file: string, baseDir: string): TrustedPlugin | null {
  const trusted = readLock(baseDir)[specifier]
  if (!trusted) return null
  const folder = pluginFolder(file, baseDir)
  const { sha256, dependencies } = hashPlugin(folder, lockFileIn(baseDir))
  const before = trusted.dependencies ?? {}
  const changed = Object.keys({ ...before, ...dependencies }).find(
    path => before[path] !== dependencies[path]
  )
  if (trusted.sha256 === sha256 && changed === undefined) return trusted
  const subject =
    trusted.sha256 === sha256
      ? `its dependency ${join(folder, changed ?? '')} has`
      : `its files in ${folder} have`
  throw new Error(
    `${subject} changed since ${trusted.name} ${trusted.version} was trusted; ` +
      `check the changes, then run: sluice plugin trust ${specifier}`
  )
}

/** Records the present files of a plugin and of its dependencies. */
export function trust(specifier: string, file: string, baseDir: string): TrustedPlugin {
  const folder = pluginFolder(file, baseDir)
  const lockFile = lockFileIn(baseDir)
  const { name, version } = readManifest(folder)
  const entry = { name, version, ...hashPlugin(folder, lockFile) }
  const lock = { ...readLock(baseDir), [specifier]: entry }
  const temporary = `${lockFile}.${process.pid}`
  try {
    writeFileSync(temporary, `${JSON.stringify(lock, null, 2)}\n`)
    chmodSync(temporary, 0o644) // the server may run as another user
    renameSync(temporary, lockFile)
  } catch (cause) {
    const remedy = `as its owner run: sluice plugin trust ${specifier}`
    throw new Error(`cannot record it in ${lockFile}, which is not writable; ${remedy}`, { cause })
  }
  return entry
}

function readLock(baseDir: string): Readonly<Record<string, TrustedPlugin>> {
  const file = lockFileIn(baseDir)
  if (!existsSync(file)) return {}
  try {
    const lock: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (Check(Lock, lock)) return lock
    throw new Error('not every entry has name, version and sha256')
  } catch (cause) {
    const remedy = 'delete it to trust the present files'
    throw new Error(`${file} cannot be read: ${String(cause)}; ${remedy}`, { cause })
  }
}

/** Returns the plugin's folder: the nearest folder with a package.json, else the folder of the file. */
export function pluginFolder(file: string, baseDir: string): string {
  const containsConfig = (dir: string): boolean => !relative(dir, baseDir).startsWith('..')
  for (let dir = dirname(file); dir !== dirname(dir) && !containsConfig(dir); dir = dirname(dir)) {
    if (!existsSync(join(dir, 'package.json'))) continue
    return readManifest(dir).name === 'sluice' ? dirname(file) : dir // in sluice's own tree, for tests
  }
  return dirname(file)
}
