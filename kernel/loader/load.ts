import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Type } from 'typebox'
import { refuse, settle } from '../base/config.ts'
import { Fault, pluginFailed, reasonOf } from '../base/errors.ts'
import { ownVersion } from '../base/version.ts'
import { offerSurface } from './public-modules.ts'
import { requireTrusted } from './trust.ts'

export type Half = 'plugin' | 'agent'
export type Builtin<P> = Readonly<Record<string, () => Promise<{ readonly default: P }>>>
type Section = Readonly<Record<string, unknown>>

export interface Loaded<P> {
  readonly plugins: readonly P[]
  /** Each plugin's section, without the loader's own key `enabled`. */
  readonly sections: Readonly<Record<string, Section>>
  /** By name, what the configuration calls it: a built-in name, a path, or an npm package. */
  readonly specifiers: Readonly<Record<string, string>>
}

interface Options<P> {
  readonly half: Half
  readonly builtin: Builtin<P>
  /** `[plugins]` of the configuration: name, './path' or npm package to section. */
  readonly table: Readonly<Record<string, Section>>
  readonly baseDir: string // of the configuration: paths and packages are found from there
}

const Plugins = Type.Object({
  plugins: Type.Record(Type.String(), Type.Object({ enabled: Type.Optional(Type.Boolean()) }), {
    default: {}
  })
})

/** `[plugins]` of a file that has been read; what else stands in a section is its plugin's to judge. */
export function pluginTableIn(file: Section): Readonly<Record<string, Section>> {
  const { value, problems } = settle(Plugins, 'plugins' in file ? { plugins: file['plugins'] } : {}, '')
  refuse(problems)
  return value['plugins'] as Readonly<Record<string, Section>> // judged by now
}

/** What is built in, unless disabled, and what the configuration names; imported, not run. */
export async function loadPlugins<P extends { readonly name: string }>(
  options: Options<P>
): Promise<Loaded<P>> {
  const { half, builtin, table, baseDir } = options
  const problems: string[] = []
  const plugins: P[] = []
  const sections: Record<string, Section> = {}
  const specifiers: Record<string, string> = {}

  for (const specifier of new Set([...Object.keys(builtin), ...Object.keys(table)])) {
    const { enabled = true, ...section } = table[specifier] ?? {}
    if (enabled === false) continue
    try {
      const load = builtin[specifier] ?? (() => importTrusted(specifier, half, baseDir))
      const { default: plugin } = (await load()) as { readonly default?: P }
      if (typeof plugin?.name !== 'string') throw new Error('its default export is missing, or no manifest')
      if (Object.hasOwn(specifiers, plugin.name))
        throw new Error(`its name ${plugin.name} is that of ${specifiers[plugin.name]}; take one of them out`)
      plugins.push(plugin)
      sections[plugin.name] = section
      specifiers[plugin.name] = specifier
    } catch (error) {
      if (half === 'agent' && error instanceof NoHalf && isServerOnly(specifier, baseDir)) continue
      problems.push(`plugin ${specifier}: ${reasonOf(error)}`)
    }
  }
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
  return { plugins, sections, specifiers }
}

/** A plugin without an agent's half is whole; a name that nobody has is a slip. */
export class NoHalf extends Error {}

function isServerOnly(specifier: string, baseDir: string): boolean {
  try {
    return find(specifier, 'plugin', baseDir) !== ''
  } catch {
    return false // the caller reports the agent's half as missing
  }
}

async function importTrusted(specifier: string, half: Half, baseDir: string): Promise<object> {
  const file = find(specifier, half, baseDir)
  requireTrusted(specifier, file, baseDir)
  return importForeign(file)
}

/** What was written for a newer contract may not even link: its ranges are never seen. */
export async function importForeign(file: string): Promise<object> {
  offerSurface()
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    const [missing] = /'sluice\/[\w-]+' does not provide an export named '\w+'/.exec(String(cause)) ?? []
    if (missing !== undefined)
      throw new Error(
        `${missing}: this is sluice ${ownVersion()}; install a release of the plugin that was made for it, or a newer sluice`,
        { cause }
      )
    const [place] = (cause instanceof SyntaxError && /^file:\S+:\d+/.exec(cause.stack ?? '')) || []
    throw place === undefined ? cause : new Error(`${place}: ${reasonOf(cause)}`, { cause })
  }
}

/** A path names a folder with plugin.ts (and agent.ts), or the file; else it is a package with ./plugin and ./agent. */
export function find(specifier: string, half: Half, baseDir: string): string {
  if (!specifier.startsWith('.') && !isAbsolute(specifier)) return findPackage(specifier, half, baseDir)
  const path = resolve(baseDir, specifier)
  const isFolder = existsSync(path) && statSync(path).isDirectory()
  const folder = isFolder ? path : join(path, '..')
  const names =
    half === 'plugin' && !isFolder ? [path] : ['ts', 'js'].map(end => join(folder, `${half}.${end}`))
  const found = names.find(existsSync)
  if (found === undefined) throw new NoHalf(`there is no ${names.join(' or ')}`)
  return found
}

function findPackage(name: string, half: Half, baseDir: string): string {
  try {
    return createRequire(join(baseDir, 'noop.js')).resolve(`${name}/${half}`)
  } catch (cause) {
    throw new NoHalf(`no built-in plugin has this name, and no package ${name}/${half} is installed`, {
      cause
    })
  }
}
