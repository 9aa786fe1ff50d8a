// What was trusted of plugins that others wrote: `plugins.lock` beside the configuration. Code that changed runs only
// after its operator has said so.
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
import { Type } from 'typebox'
import { Check } from 'typebox/value'

export interface Trusted {
  readonly name: string
  readonly version: string
  readonly sha256: string // of all files of its folder, node_modules and .git apart
}

type Lock = Readonly<Record<string, Trusted>>

const Lock = Type.Record(
  Type.String(),
  Type.Object({ name: Type.String(), version: Type.String(), sha256: Type.String() })
)

export const lockFileIn = (baseDir: string): string => join(baseDir, 'plugins.lock')

/** Throws where the files are not those that were trusted, or where somebody else may change them. */
export function requireTrusted(specifier: string, file: string, baseDir: string): void {
  const known = readLock(baseDir)[specifier]
  const folder = folderOf(file, baseDir)
  refuseWritable(folder)
  if (known && known.sha256 !== hashOf(folder, lockFileIn(baseDir)))
    throw new Error(
      `its files in ${folder} are not those of ${known.name} ${known.version} that were trusted; ` +
        `look at what changed, then run: sluice plugin trust ${specifier}`
    )
  if (!known) trust(specifier, file, baseDir)
}

/** From now on these files may run. */
export function trust(specifier: string, file: string, baseDir: string): Trusted {
  const folder = folderOf(file, baseDir)
  refuseWritable(folder)
  const lockFile = lockFileIn(baseDir)
  const entry = { ...manifestOf(folder), sha256: hashOf(folder, lockFile) }
  const lock = { ...readLock(baseDir), [specifier]: entry }
  const fresh = `${lockFile}.${process.pid}`
  try {
    writeFileSync(fresh, `${JSON.stringify(lock, null, 2)}\n`)
    chmodSync(fresh, 0o644) // whoever trusts is seldom the user who runs it
    renameSync(fresh, lockFile)
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
    const lock: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (Check(Lock, lock)) return lock
    throw new Error('not every entry has name, version and sha256')
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${String(cause)}; delete it to trust what is there now`, {
      cause
    })
  }
}

/** The plugin's own folder: the nearest with a package.json, else that of the file. */
function folderOf(file: string, baseDir: string): string {
  const isIn = (dir: string): boolean => !relative(dir, baseDir).startsWith('..')
  for (let dir = dirname(file); dir !== dirname(dir) && !isIn(dir); dir = dirname(dir)) {
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

/** All that lies in it, hidden or not, by paths from it: what a program imports may have any name. */
function* entriesOf(folder: string, under = ''): Generator<string> {
  for (const entry of readdirSync(join(folder, under), { withFileTypes: true })) {
    if (/^(node_modules|\.git)$/.test(entry.name)) continue
    const path = join(under, entry.name)
    if (entry.isSymbolicLink())
      throw new Error(
        `${join(folder, path)} is a link, and what it leads to could change; put what is meant there itself`
      )
    yield path
    if (entry.isDirectory()) yield* entriesOf(folder, path)
  }
}

function hashOf(folder: string, lockFile: string): string {
  const hash = createHash('sha256')
  for (const path of [...entriesOf(folder)].sort()) {
    const file = join(folder, path)
    if (file === lockFile || !statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    hash.update(`${path.length} ${path} ${bytes.length} `).update(bytes)
  }
  return hash.digest('hex')
}

const othersMayWrite = 0o022

function refuseWritable(folder: string): void {
  const uid = process.getuid?.()
  for (const path of [folder, ...[...entriesOf(folder)].map(path => join(folder, path))]) {
    const { mode, uid: owner } = statSync(path)
    if (uid !== undefined && owner !== uid && owner !== 0)
      throw new Error(`${path} belongs to another user (${owner}), who could change what runs; chown it`)
    if ((mode & othersMayWrite) !== 0)
      throw new Error(`others may write ${relative(dirname(folder), path)}; run: chmod -R go-w ${folder}`)
  }
}
