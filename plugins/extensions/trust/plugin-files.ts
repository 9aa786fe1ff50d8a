// The files that an external plugin can load: its own, and those of the packages that it depends on.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export interface PluginFiles {
  readonly sha256: string // of all files in the plugin's folder except node_modules and .git
  readonly dependencies: Readonly<Record<string, string>> // the same of each package, by its path from the folder
}

export function readManifest(folder: string) {
  const file = join(folder, 'package.json')
  const {
    name = folder,
    version = '',
    ...manifest
  } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  return { name: String(name), version: String(version), dependencies }
}

/** Hashes the files of a plugin and of its dependencies. Throws if another user could change one of them later. */
export function hashPlugin(folder: string, lockFile: string): PluginFiles {
  const hashed = listDependencies(folder).map(found => [relative(folder, found), hashFolder(found, lockFile)])
  return { sha256: hashFolder(folder, lockFile), dependencies: Object.fromEntries(hashed) }
}

/** Returns the packages that the plugin and they themselves declare, and all that are in their own node_modules. */
function listDependencies(folder: string): string[] {
  const found = new Set([folder])
  for (const dir of found) // it grows
    for (const name of [...readManifest(dir).dependencies, ...namesIn(join(dir, 'node_modules'))]) {
      const dependency = findPackage(dir, name)
      if (dependency !== null) found.add(dependency)
    }
  return [...found].slice(1).sort()
}

/** Hidden entries, such as .bin, are no packages. */
function namesIn(modules: string): string[] {
  const list = (dir: string): string[] =>
    existsSync(dir) ? readdirSync(dir).filter(name => !name.startsWith('.')) : []
  return list(modules).flatMap(name =>
    name.startsWith('@') ? list(join(modules, name)).map(inScope => `${name}/${inScope}`) : [name]
  )
}

/** Finds a package as Node does. Null: it is not installed, or is sluice: its modules come from the running program. */
function findPackage(from: string, name: string): string | null {
  for (let dir = from; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', name)
    if (existsSync(folder)) return readManifest(folder).name === 'sluice' ? null : realpathSync(folder)
    if (dir === dirname(dir)) return null
  }
}

/** Returns the SHA-256 over all paths and files of a folder, or of a file. */
function hashFolder(folder: string, lockFile: string): string {
  const hash = createHash('sha256')
  refuseWritable(folder, folder)
  const paths = statSync(folder).isFile() ? [''] : [...listEntries(folder)].sort()
  for (const path of paths) {
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

/** Throws if another user than the present one and root can change the file. */
export function refuseWritable(path: string, folder: string): void {
  const { mode, uid: owner } = statSync(path)
  const uid = process.getuid?.()
  if (uid !== undefined && owner !== uid && owner !== 0)
    throw new Error(`${path} belongs to another user (${owner}) with the right to change the code; chown it`)
  if ((mode & 0o022) !== 0)
    throw new Error(`others may write ${relative(dirname(folder), path)}; run: chmod -R go-w ${folder}`)
}
