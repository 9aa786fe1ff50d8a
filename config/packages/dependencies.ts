// Copies the libraries that the program needs, as npm ci installed them, without files that no package needs.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'
import type { Target } from './targets.ts'

interface Package {
  readonly bin?: string | Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/**
 * Returns the folders of all dependencies of the program in the checkout, as placed by package-lock.json. Excludes
 * the named packages and dependencies that only they need.
 */
function foldersOf(without: readonly string[]): readonly string[] {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Package>> }
  const found = new Set<string>()
  const visit = (from: string): void => {
    for (const name of Object.keys(packages[from]?.dependencies ?? {})) {
      if (without.includes(name)) continue
      const place = placesOf(name, from).find(place => place in packages)
      if (place === undefined) throw new Error(`package-lock.json lacks ${name}, a dependency of ${from}`)
      if (found.has(place)) continue
      found.add(place)
      visit(place)
    }
  }
  visit('')
  return [...found].sort()
}

/** Returns the folders that Node searches for a package, nearest first. */
function placesOf(name: string, from: string): string[] {
  const parts = from === '' ? [] : from.split(/\/?node_modules\//).slice(1)
  return parts
    .map((_, i) => parts.slice(0, parts.length - i))
    .concat([[]])
    .map(above => [...above, name].map(part => `node_modules/${part}`).join('/'))
}

/** Sources of native code, and prebuilds, which are selected one by one. */
const native =
  /^node_modules\/(better-sqlite3\/(deps|src|prebuilds|binding\.gyp)|argon2\/(argon2|prebuilds|argon2\.cpp|binding\.gyp))(\/|$)/

/** Library files that are needed neither to run nor to read the code. Licenses stay. */
const unread =
  /\.(map|flow|tsbuildinfo|sh|html|ya?ml|md|markdown)$|\/(test|tests|spec|benchmarks?|examples?|docs|integration|\.[^/]+)(\/|$)|\/(readme|changelog|history)$/i

/** Duplicates of the same code, for browsers and for module systems that Node does not use. */
const secondCopies =
  /^node_modules\/(protobufjs\/dist|@peculiar\/.*\/(es2015|esm|x509(\.es)?\.js$)|yaml\/browser|nodemailer\/dist\/cjs|asn1js\/build\/index\.es\.js$|tsyringe\/dist\/esm|@opentelemetry\/api\/build\/(esm|esnext)|ajv\/dist\/.*\.bundle|@zxcvbn-ts\/.*\/(dist|src\/(adjacencyGraphs|diceware))(\/|\.|$))/

const isDeclaration = /\.d\.[cm]?ts$/
const isTypeScript = /\.[cm]?ts$/

interface Choice {
  readonly without: readonly string[] // libraries
  readonly types: 'with types' | 'without types'
}

/** Copies the libraries. Their manifests do not mention excluded ones. */
export function copyDependencies(dir: string, { without, types }: Choice): void {
  for (const folder of foldersOf(without)) {
    const { bin, ...manifest } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8')
    ) as Package
    const programs = Object.values(typeof bin === 'string' ? { bin } : (bin ?? {}))
    const left = programs.map(file => join(folder, file))
    const isKept = (path: string): boolean =>
      !path.startsWith(`${folder}/node_modules`) &&
      ![native, unread, secondCopies].some(pattern => pattern.test(path)) &&
      (!isTypeScript.test(path) || (types === 'with types' && isDeclaration.test(path))) &&
      !left.includes(path)
    cpSync(join(root, folder), join(dir, folder), {
      recursive: true,
      filter: source => source === join(root, folder) || isKept(source.slice(root.length + 1))
    })
    const dependencies = Object.entries(manifest.dependencies ?? {}).filter(
      ([name]) => !without.includes(name)
    )
    const kept = { ...manifest, scripts: undefined, dependencies: Object.fromEntries(dependencies) }
    writeFileSync(join(dir, folder, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`)
  }
}

/** Copies the prebuilds of the libraries for one machine. */
export function copyPrebuilds(dir: string, { sqlite, argon2, arch }: Target, tag: 'tagged' | 'plain'): void {
  const put = (from: string, to = from): void =>
    cpSync(join(root, 'node_modules', from), join(dir, 'node_modules', to))
  put(`better-sqlite3/prebuilds/${sqlite}.node`)
  const file = `argon2/prebuilds/${argon2}.node`
  // Its loader selects musl on Alpine only, unless the file name has no tag.
  put(file, tag === 'plain' ? `argon2/prebuilds/linux-${arch}/argon2.node` : file)
}
