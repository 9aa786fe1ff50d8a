import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { Type } from 'typebox'
import { throwProblems, validateConfig } from '../base/config.ts'
import { Fault, pluginFailed, reasonOf } from '../base/errors.ts'
import { requireTrusted } from './trust.ts'

export type Half = 'plugin' | 'agent'
export type Builtin<P> = Readonly<Record<string, () => Promise<{ readonly default: P }>>>
type Section = Readonly<Record<string, unknown>>

export interface LoadedPlugins<P> {
  readonly plugins: readonly P[]
  /** Each plugin's section, without the loader's own key `enabled`. */
  readonly sections: Readonly<Record<string, Section>>
  /** Plugin name to what the configuration calls it: a built-in name, a path, or an npm package. */
  readonly specifiers: Readonly<Record<string, string>>
}

interface Options<P> {
  readonly half: Half
  readonly builtin: Builtin<P>
  /** `[plugins]` of the configuration: name, './path' or npm package to section. */
  readonly table: Readonly<Record<string, Section>>
  readonly baseDir: string // folder of the configuration: paths and packages are resolved from here
  readonly importPlugin: (file: string) => Promise<object>
}

const Plugins = Type.Object({
  plugins: Type.Record(Type.String(), Type.Object({ enabled: Type.Optional(Type.Boolean()) }), {
    default: {}
  })
})

/** `[plugins]` of a parsed configuration. Each plugin validates its own section later. */
export function pluginSections(file: Section): Readonly<Record<string, Section>> {
  const { value, problems } = validateConfig(
    Plugins,
    'plugins' in file ? { plugins: file['plugins'] } : {},
    ''
  )
  throwProblems(problems)
  return value['plugins'] as Readonly<Record<string, Section>> // validated above
}

/** Imports the built-in plugins, unless disabled, and those that the configuration names. Starts none of them. */
export async function loadPlugins<P extends { readonly name: string }>(
  options: Options<P>
): Promise<LoadedPlugins<P>> {
  const { half, builtin, table, baseDir } = options
  const problems: string[] = []
  const plugins: P[] = []
  const sections: Record<string, Section> = {}
  const specifiers: Record<string, string> = {}

  for (const specifier of new Set([...Object.keys(builtin), ...Object.keys(table)])) {
    const { enabled = true, ...section } = table[specifier] ?? {}
    if (enabled === false) continue
    try {
      const load = builtin[specifier] ?? (() => importTrusted(specifier, options))
      const { default: plugin } = (await load()) as { readonly default?: P }
      if (typeof plugin?.name !== 'string') throw new Error('its default export is missing, or no manifest')
      if (Object.hasOwn(specifiers, plugin.name))
        throw new Error(`its name ${plugin.name} is that of ${specifiers[plugin.name]}; take one of them out`)
      plugins.push(plugin)
      sections[plugin.name] = section
      specifiers[plugin.name] = specifier
    } catch (error) {
      if (half === 'agent' && error instanceof HalfNotFound && hasServerHalf(specifier, baseDir)) continue
      problems.push(`plugin ${specifier}: ${reasonOf(error)}`)
    }
  }
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
  return { plugins, sections, specifiers }
}

function importTrusted<P>(specifier: string, { half, baseDir, importPlugin }: Options<P>): Promise<object> {
  const file = resolvePlugin(specifier, half, baseDir)
  requireTrusted(specifier, file, baseDir)
  return importPlugin(file)
}

/** An agent skips a plugin that has only a server half; where both are missing, the name is wrong. */
export class HalfNotFound extends Error {}

function hasServerHalf(specifier: string, baseDir: string): boolean {
  try {
    return resolvePlugin(specifier, 'plugin', baseDir) !== ''
  } catch {
    return false // the caller reports the missing agent half
  }
}

/** Returns the file of a half. A path names a folder with plugin.ts (and agent.ts), or the file itself. */
export function resolvePlugin(specifier: string, half: Half, baseDir: string): string {
  if (!specifier.startsWith('.') && !isAbsolute(specifier)) return resolvePackage(specifier, half, baseDir)
  const path = resolve(baseDir, specifier)
  const isFolder = existsSync(path) && statSync(path).isDirectory()
  const folder = isFolder ? path : join(path, '..')
  const names =
    half === 'plugin' && !isFolder ? [path] : ['ts', 'js'].map(end => join(folder, `${half}.${end}`))
  const found = names.find(existsSync)
  if (found === undefined) throw new HalfNotFound(`there is no ${names.join(' or ')}`)
  return found
}

/** An npm package exports its halves as ./plugin and ./agent. */
function resolvePackage(name: string, half: Half, baseDir: string): string {
  try {
    return createRequire(join(baseDir, 'noop.js')).resolve(`${name}/${half}`)
  } catch (cause) {
    const message = `no built-in plugin has this name, and no package ${name}/${half} is installed`
    throw new HalfNotFound(message, { cause })
  }
}
