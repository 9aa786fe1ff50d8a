// Bundles the libraries that the sources import: node_modules/.cache/sluice-libraries has a file for each, and what several
// share. config/checkout/fast-imports.mjs uses them. They are built at `npm install` in a checkout.
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import 'reflect-metadata' // @peculiar/x509 needs it at its import

const root = join(import.meta.dirname, '..', '..')
const outdir = join(root, 'node_modules', '.cache', 'sluice-libraries')
const separate = ['argon2', 'better-sqlite3', 'pg', 'pino', 'pino-pretty'] // native code, or threads with files of their own

async function bundleLibraries(build) {
  rmSync(outdir, { recursive: true, force: true })
  mkdirSync(outdir, { recursive: true })
  const names = importedLibraries()
  const entries = Object.fromEntries(names.map(name => [name.replaceAll(/[@/]/g, '_'), name]))
  await build({
    entryPoints: Object.fromEntries(Object.keys(entries).map(file => [file, `library:${entries[file]}`])),
    absWorkingDir: root,
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    keepNames: true, // of entities and errors
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: [...separate, 'tedious', 'mysql2', 'mariadb', 'libsql', 'oracledb'],
    banner: {
      js: `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)
const __filename = import.meta.filename, __dirname = import.meta.dirname`
    },
    logLevel: 'error',
    plugins: [namedExports]
  })
  const files = Object.fromEntries(Object.entries(entries).map(([file, name]) => [name, `${file}.mjs`]))
  const lockMs = statSync(join(root, 'node_modules/.package-lock.json')).mtimeMs
  writeFileSync(join(outdir, 'index.json'), JSON.stringify({ lockMs, files }))
  console.log(`sluice: ${names.length} libraries are bundled for faster starts`)
}

/** Returns the import specifiers of our dependencies in the sources. */
function importedLibraries() {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const sources = globSync('{agent,config,kernel,kit,platform,plugins,test}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules', 'plugins/console/web']
  })
  const specifiers = sources.flatMap(file =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export|\} from) .*'([@a-z][^':]*)'$/gm)
    ].map(([, specifier]) => specifier)
  )
  const libraryOf = specifier => /^(@[^/]+\/)?[^/]+/.exec(specifier)[0]
  return [...new Set(specifiers)]
    .filter(specifier => Object.hasOwn(dependencies, libraryOf(specifier)))
    .filter(specifier => !separate.includes(libraryOf(specifier)))
    .sort()
}

/** Names each export: esbuild gives those of a CommonJS library as properties of its default export alone. */
const namedExports = {
  name: 'named-exports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^library:/ }, ({ path }) => ({
      path: path.slice('library:'.length),
      namespace: 'library'
    }))
    onLoad({ filter: /./, namespace: 'library' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter(name => name !== 'module.exports')
      const from = JSON.stringify(path)
      return { contents: `export { ${names.join(', ')} } from ${from}\nimport ${from}`, resolveDir: root }
    })
  }
}

const esbuild = await import('esbuild').catch(() => null)
if (esbuild === null) console.log('sluice: the libraries are not bundled here: esbuild is not installed')
else await bundleLibraries(esbuild.build)
