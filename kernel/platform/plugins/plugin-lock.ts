// `plugins.lock` beside the configuration records a hash of every external plugin. Changed code does not run until the
// operator trusts it.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'

const TrustedPlugin = Type.Object({
  name: Type.String(),
  version: Type.String(),
  sha256: Type.String() // of all files in its folder except node_modules and .git
})
export type TrustedPlugin = Readonly<Static<typeof TrustedPlugin>>

const Lock = Type.Record(Type.String(), TrustedPlugin)

export const lockFileIn = (baseDir: string): string => join(baseDir, 'plugins.lock')

/**
 * Records a plugin at its first load and returns the record. Throws if its files have changed since, or if other users can
 * change them.
 */
export function requireTrusted(specifier: string, file: string, baseDir: string): TrustedPlugin {
  const trusted = readLock(baseDir)[specifier]
  if (!trusted) return trust(specifier, file, baseDir)
  const folder = pluginFolder(file, baseDir)
  if (trusted.sha256 !== hashFolder(folder, lockFileIn(baseDir)))
    throw new Error(
      `its files in ${folder} have changed since ${trusted.name} ${trusted.version} was trusted; ` +
        `check the changes, then run: sluice plugin trust ${specifier}`
    )
  return trusted
}

/** Records the present files of a plugin. */
export function trust(specifier: string, file: string, baseDir: string): TrustedPlugin {
  const folder = pluginFolder(file, baseDir)
  const lockFile = lockFileIn(baseDir)
  const entry = { ...readManifest(folder), sha256: hashFolder(folder, lockFile) }
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

function readManifest(folder: string): { name: string; version: string } {
  const file = join(folder, 'package.json')
  const { name = folder, version = '' } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return { name: String(name), version: String(version) }
}

/** Returns the SHA-256 over all paths and files. Throws if another user could change a file later. */
function hashFolder(folder: string, lockFile: string): string {
  const hash = createHash('sha256')
  refuseWritable(folder, folder)
  for (const path of [...listEntries(folder)].sort()) {
    const file = join(folder, path)
    refuseWritable(file, folder)
    if (file === lockFile || !statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    hash.update(`${path.length} ${path} ${bytes.length} `).update(bytes)
  }
  return hash.digest('hex')
}

/** Yields relative paths of all files and folders, hidden ones too: a program can import a file of any name. */
function* listEntries(folder: string, under = ''): Generator<string> {
  for (const entry of readdirSync(join(folder, under), { withFileTypes: true })) {
    if (/^(node_modules|\.git)$/.test(entry.name)) continue
    const path = join(under, entry.name)
    if (entry.isSymbolicLink())
      throw new Error(
        `${join(folder, path)} is a symbolic link, and its target could change unnoticed; replace it with the file or folder`
      )
    yield path
    if (entry.isDirectory()) yield* listEntries(folder, path)
  }
}

function refuseWritable(path: string, folder: string): void {
  const { mode, uid: owner } = statSync(path)
  const uid = process.getuid?.()
  if (uid !== undefined && owner !== uid && owner !== 0)
    throw new Error(`${path} belongs to another user (${owner}) with the right to change the code; chown it`)
  if ((mode & 0o022) !== 0)
    throw new Error(`others may write ${relative(dirname(folder), path)}; run: chmod -R go-w ${folder}`)
}
