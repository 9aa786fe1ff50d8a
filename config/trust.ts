// What was trusted of plugins that others wrote: `plugins.lock` beside the configuration. Code that changed runs only
// after its operator has said so.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export interface Trusted {
  readonly name: string
  readonly version: string
  readonly sha256: string // of all files of its folder, node_modules and .git apart
}

type Lock = Readonly<Record<string, Trusted>>

export const lockFileIn = (baseDir: string): string => join(baseDir, 'plugins.lock')

/** Throws where the files are not those that were trusted, or where somebody else may change them. */
export function requireTrusted(specifier: string, file: string, baseDir: string): void {
  const known = readLock(baseDir)[specifier]
  const folder = folderOf(file)
  refuseWritable(folder)
  if (known && known.sha256 !== hashOf(folder))
    throw new Error(
      `its files in ${folder} are not those of ${known.name} ${known.version} that were trusted; ` +
        `look at what changed, then run: sluice plugin trust ${specifier}`
    )
  if (!known) trust(specifier, file, baseDir)
}

/** From now on these files may run. */
export function trust(specifier: string, file: string, baseDir: string): Trusted {
  const folder = folderOf(file)
  refuseWritable(folder)
  const lockFile = lockFileIn(baseDir)
  const entry = { ...manifestOf(folder), sha256: hashOf(folder) }
  const lock = { ...readLock(baseDir), [specifier]: entry }
  try {
    writeFileSync(`${lockFile}.new`, `${JSON.stringify(lock, null, 2)}\n`, { mode: 0o644 })
    renameSync(`${lockFile}.new`, lockFile)
  } catch (cause) {
    throw new Error(
      `it is not in ${lockFile}, which cannot be written; as its owner run: sluice plugin trust ${specifier}`,
      { cause }
    )
  }
  return entry
}

export function readLock(baseDir: string): Lock {
  const file = lockFileIn(baseDir)
  if (!existsSync(file)) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Lock // our own file
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${String(cause)}; delete it to trust what is there now`, {
      cause
    })
  }
}

/** The plugin's own folder: the nearest with a package.json, else that of the file. */
function folderOf(file: string): string {
  for (let dir = dirname(file); dir !== dirname(dir); dir = dirname(dir)) {
    if (existsSync(join(dir, 'package.json'))) return isOurs(dir) ? dirname(file) : dir
  }
  return dirname(file)
}

const manifestIn = (dir: string): { readonly name?: unknown; readonly version?: unknown } =>
  JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))

/** A plugin in our own tree, for tests: the whole tree is not its folder. */
const isOurs = (dir: string): boolean => manifestIn(dir).name === 'sluice'

function manifestOf(folder: string): { name: string; version: string } {
  const { name = folder, version = '' } = existsSync(join(folder, 'package.json')) ? manifestIn(folder) : {}
  return { name: String(name), version: String(version) }
}

const filesOf = (folder: string): string[] =>
  globSync('**/*', { cwd: folder, exclude: entry => /(^|\/)(node_modules|\.git)$/.test(entry) })
    .filter(path => statSync(join(folder, path)).isFile())
    .sort()

function hashOf(folder: string): string {
  const hash = createHash('sha256')
  for (const path of filesOf(folder)) {
    const bytes = readFileSync(join(folder, path))
    hash.update(`${path.length} ${path} ${bytes.length} `).update(bytes)
  }
  return hash.digest('hex')
}

const othersMayWrite = 0o022

function refuseWritable(folder: string): void {
  const uid = process.getuid?.()
  for (const path of [folder, ...filesOf(folder).map(path => join(folder, path))]) {
    const { mode, uid: owner } = statSync(path)
    if (uid !== undefined && owner !== uid && owner !== 0)
      throw new Error(`${path} belongs to another user (${owner}), who could change what runs; chown it`)
    if ((mode & othersMayWrite) !== 0)
      throw new Error(`others may write ${relative(dirname(folder), path)}; run: chmod -R go-w ${folder}`)
  }
}
