// Builds the single-file agent: all modules of `sluice agent` in one file that needs only Node.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build, type OnLoadResult, type Plugin, transform } from 'esbuild'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { index } from '../../command-index.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** The plugins with commands that program.ts can load. */
const commandModules = new Set(['agent', 'doctor', 'metrics'])

/** Modules that read package files get the content as a constant. */
const constants: Readonly<Record<string, () => string>> = {
  'kernel/platform/version.ts': () => `export const ownVersion = () => ${JSON.stringify(ownVersion())}`,
  'config/command-index.ts': () => {
    const commands = index.commands.filter(
      ({ name, by }) => name.startsWith('agent ') && commandModules.has(by)
    )
    return `export const index = ${JSON.stringify({ ...index, commands, exits: {} })}` // codes of API errors
  },
  // An agent has no server store, and `agent doctor` never opens one; both lock a directory the same way.
  'kernel/store/open.ts': () =>
    `export const openStore = () => { throw new TypeError('an agent has no store') }`,
  'kernel/store/data-dir.ts': () =>
    `export { lockStateDir as lockStore } from '../../agent/state/state-database.ts'`,
  'kernel/platform/plugins/public-modules.ts': () =>
    readFileSync(join(import.meta.dirname, 'public-modules.ts'), 'utf8')
}

/** Modules that locate other files relative to themselves. */
const changes: Readonly<Record<string, (path: string) => string | Promise<string>>> = {
  'plugins/process/watchdog.ts': withWorker
}

/** Modules that define messages, each next to its .proto. */
const hasProto = /\/(wire|control|envelope)\.ts$|^agent\/wire\//

const inOneFile: Plugin = {
  name: 'in-one-file',
  setup({ onLoad, onResolve }) {
    // prom-client asks it for the active span of exemplars, which only a program with its SDK has.
    onResolve({ filter: /^@opentelemetry\/api$/ }, ({ path }) => ({ path, namespace: 'no-spans' }))
    onLoad({ filter: /^/, namespace: 'no-spans' }, () => ({
      contents: 'export const context = { active() {} }; export const trace = { getSpan() {} }'
    }))
    // Without the comments of libraries: V8 keeps the source in memory.
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, async ({ path }): Promise<OnLoadResult> => {
      const { code } = await transform(readFileSync(path, 'utf8'), {
        minifyWhitespace: true,
        legalComments: 'none'
      })
      return { contents: code, loader: 'js' }
    })
    onLoad({ filter: /\.ts$/ }, async ({ path }): Promise<OnLoadResult | null> => {
      const file = path.slice(root.length + 1)
      const constant = constants[file]?.()
      if (constant !== undefined) return { contents: constant, loader: 'ts' }
      const change = changes[file] ?? (hasProto.test(file) ? withProtos : null)
      return change && { contents: await change(path), loader: 'ts' }
    })
  }
}

/** Returns a module with the text of its .proto file inlined. */
const withProtos = (path: string): string =>
  readFileSync(path, 'utf8').replaceAll(
    /new URL\('(\.\/[\w-]+\.proto)', import\.meta\.url\)/g,
    (_, proto: string) => JSON.stringify(readFileSync(join(dirname(path), proto), 'utf8'))
  )

/** Returns the watchdog with its worker as a data URL. */
async function withWorker(path: string): Promise<string> {
  const { text: worker } = await bundle(join(dirname(path), 'watchdog-worker.ts'))
  return replaced(
    readFileSync(path, 'utf8'),
    /new URL\(`\.\/watchdog-worker\.[^`]*`, import\.meta\.url\)/,
    `new URL('data:text/javascript;base64,${Buffer.from(worker).toString('base64')}')`
  )
}

function replaced(text: string, pattern: RegExp, by: string): string {
  const next = text.replace(pattern, by)
  if (next === text) throw new Error(`nothing matches ${pattern}`)
  return next
}

async function bundle(entry: string, first = '') {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root, // for the paths in comments before modules
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minifySyntax: true,
    legalComments: 'none', // see `notices`
    plugins: [inOneFile],
    banner: { js: first }
  })
  return { text: outputFiles.map(({ text }) => text).join(''), inputs: Object.keys(metafile.inputs) }
}

/** Returns the licenses of the libraries as a comment, each text once. Throws if a library has none. */
function notices(inputs: readonly string[]): string {
  const libraries = inputs.flatMap(path => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  const texts = Map.groupBy([...new Set(libraries)].sort(), licenseOf)
  const all = [...texts].map(([text, names]) => `${names.join('\n')}\n\n${text}`)
  return `/*\n${all.join('\n\n---\n\n')}\n*/\n`
}

function licenseOf(name: string): string {
  const dir = join(root, 'node_modules', name)
  const file = readdirSync(dir).find(file => /^licen[cs]e/i.test(file))
  if (file === undefined) throw new Error(`${name} has no license file`)
  const text = readFileSync(join(dir, file), 'utf8').trim()
  return text
    .replaceAll(/[ \t]+$|^[ \t]+/gm, '') // the same license is indented in different ways
    .replaceAll('*/', '* /')
    .replaceAll('©', '(c)')
}

export async function agentBundle(): Promise<string> {
  const require = "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)" // for CommonJS
  const program = join(import.meta.dirname, 'program.ts')
  const { text, inputs } = await bundle(program, `#!/usr/bin/env node\n${require}`)
  return text + notices(inputs)
}
