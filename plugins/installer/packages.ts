// The packages of this version that the server offers, each with its hash.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { reasonOf } from '../../kernel/base/errors.ts'

export interface Package {
  readonly machine: string // as in the file name: 'linux-x64', 'linux-arm64-musl'
  readonly name: string
  readonly file: string
  readonly size: number
  readonly sha256: string
}

/** Returns the packages of this version, or the reason why there are none. Hashes a file again after it has changed. */
export type Packages = () => Promise<readonly Package[] | string>

const machines = ['linux-arm64', 'linux-arm64-musl', 'linux-x64', 'linux-x64-musl']

interface CachedHash {
  readonly stamp: string
  readonly sha256: Promise<string>
}

/** Without `dir`, the server offers no packages. */
export function openPackages({
  dir,
  version
}: {
  readonly dir: string | undefined
  readonly version: string
}): Packages {
  const known = new Map<string, CachedHash>() // by name, at most four

  async function packageOf(name: string, machine: string, dir: string): Promise<Package> {
    const file = join(dir, name)
    const { size, mtimeMs, ino } = await stat(file)
    const stamp = `${size} ${mtimeMs} ${ino}`
    const found = known.get(name)
    const current = found?.stamp === stamp ? found : { stamp, sha256: hashOf(file) }
    known.set(name, current)
    current.sha256.catch(() => known.delete(name)) // the next call hashes the file again
    return { machine, name, file, size, sha256: await current.sha256 }
  }

  return async function list() {
    if (dir === undefined) return 'packages_dir is not set'
    let names: string[]
    try {
      names = await readdir(dir)
    } catch (error) {
      return `packages_dir ${dir} cannot be read: ${reasonOf(error)}`
    }
    const offered = machines
      .map(machine => ({ machine, name: `sluice-${version}-${machine}.tar.gz` }))
      .filter(({ name }) => names.includes(name))
      .map(({ machine, name }) => packageOf(name, machine, dir))
    return offered.length > 0 ? Promise.all(offered) : `packages_dir ${dir} has no tarball of ${version}`
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
