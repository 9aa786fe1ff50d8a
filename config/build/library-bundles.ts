// Bundles the libraries that the sources import: a file for each import specifier, and chunks that they share. A server
// loads 25 files instead of 1,400. `npm install` in a checkout writes them for config/checkout/fast-imports.mjs, and
// `npm run build` into dist/libraries.
import { hash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..', '..')

/** Libraries with native code, or with threads that load files. */
const separate = ['argon2', 'better-sqlite3', 'pg', 'pino', 'pino-pretty']

/** Optional drivers of MikroORM and Kysely. */
const otherDrivers = ['libsql', 'mariadb', 'mysql2', 'oracledb', 'tedious']

/** File names by import specifier. */
export type LibraryFiles = Readonly<Record<string, string>>

/** Replaces the folder. Throws if esbuild is not installed. */
export async function bundleLibraries(outdir: string): Promise<LibraryFiles> {
  const { build } = await import('esbuild')
  const entries = Object.fromEntries(importedLibraries().map(name => [name.replaceAll(/[@/]/g, '_'), name]))
  rmSync(outdir, { recursive: true, force: true })
  mkdirSync(outdir, { recursive: true })
  await build({
    entryPoints: Object.fromEntries(Object.entries(entries).map(([file, name]) => [file, `library:${name}`])),
    absWorkingDir: root,
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    keepNames: true, // of entities and errors
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: [...separate, ...otherDrivers],
    // For CommonJS libraries.
    banner: {
      js: `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)
const __filename = import.meta.filename
const __dirname = import.meta.dirname`
    },
    logLevel: 'error',
    plugins: [namedExports]
  })
  writeFileSync(join(outdir, 'package.json'), '{ "name": "sluice-libraries" }\n') // plugins/process finds the owner of code by its package.json
  return Object.fromEntries(Object.entries(entries).map(([file, name]) => [name, `${file}.mjs`]))
}

/** Writes the bundles beside compiled modules, and rewrites the modules to import them. */
export async function importBundledLibraries(dir: string): Promise<void> {
  const files = await bundleLibraries(join(dir, 'libraries'))
  for (const file of globSync('{agent,config,kernel,kit,plugins}/**/*.js', { cwd: dir })) {
    const path = join(dir, file)
    const libraries = relative(dirname(path), join(dir, 'libraries'))
    const text = readFileSync(path, 'utf8')
    const changed = text.replaceAll(
      /(\bfrom |\bimport\(|^import )'([@a-z][^':]*)'/gm,
      (found, before: string, name: string) =>
        Object.hasOwn(files, name) ? `${before}'${libraries}/${files[name]}'` : found
    )
    if (changed !== text) writeFileSync(path, changed)
  }
}

/** Returns the import specifiers of our dependencies in the sources. */
function importedLibraries(): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const sources = globSync('{agent,config,kernel,kit,plugins,test}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules', 'plugins/console/web']
  })
  const specifiers = sources.flatMap(file =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export|\} from) .*'([@a-z][^':]*)'$/gm)
    ].map(([, specifier = '']) => specifier)
  )
  return [...new Set(specifiers)]
    .filter(specifier => Object.hasOwn(dependencies, libraryOf(specifier)))
    .filter(specifier => !separate.includes(libraryOf(specifier)))
    .sort()
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/** Returns '@scope/name' for '@scope/name/part'. */
const libraryOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** Lists the exports by name: for a CommonJS library, esbuild would export only a default. */
const namedExports: Plugin = {
  name: 'named-exports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^library:/ }, ({ path }) => ({
      path: path.slice('library:'.length),
      namespace: 'library'
    }))
    onLoad({ filter: /./, namespace: 'library' }, async ({ path }) => {
      await import('reflect-metadata') // @peculiar/x509 refuses to load without it
      const names = Object.keys(await import(path)).filter(name => name !== 'module.exports')
      const from = JSON.stringify(path)
      return { contents: `export { ${names.join(', ')} } from ${from}\nimport ${from}`, resolveDir: root }
    })
  }
}

/** Bundles libraries for a checkout. A hash of npm's hidden lock file ties the bundles to the installed libraries. */
async function bundleForCheckout(): Promise<void> {
  const outdir = join(root, 'node_modules/.cache/sluice-libraries')
  const lock = hash('sha256', readFileSync(join(root, 'node_modules/.package-lock.json')))
  const files = await bundleLibraries(outdir)
  writeFileSync(join(outdir, 'index.json'), JSON.stringify({ lock, files }))
  console.log(`sluice: ${Object.keys(files).length} libraries are bundled for faster starts`)
}

if (import.meta.main)
  await bundleForCheckout().catch((error: unknown) =>
    console.log(`sluice: the libraries are not bundled, and starts are slower: ${String(error)}`)
  )
