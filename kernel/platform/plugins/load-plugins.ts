import { Type } from 'typebox'
import { atPlace, type PlaceOf, throwProblems, validateConfig } from '../../base/config.ts'
import { Fault, pluginFailed, reasonOf } from '../../base/errors.ts'
import { suggestion } from '../../base/suggestion.ts'
import { markOutside } from './containment.ts'
import { findHalf, type Half } from './resolve-plugin.ts'

export type Builtin<P> = Readonly<Record<string, () => Promise<{ readonly default: P }>>>
/** The files of an external plugin that may run: the recorded ones, or in `development` the present ones. */
type Accepted = 'recorded' | 'present'
export type ImportExternal = (
  specifier: string,
  half: Half,
  baseDir: string,
  accepted?: Accepted
) => Promise<Imported | null>

interface Trusted {
  readonly name: string
  readonly version: string
  readonly sha256: string
}

interface Imported {
  readonly module: object
  readonly firstTrusted: Trusted | null // its record, if this load made it
}
type Section = Readonly<Record<string, unknown>>

export interface LoadedPlugins<P> {
  readonly plugins: readonly P[]
  /** Each plugin's section without the loader's keys: `enabled` and, for external plugins, `development`. */
  readonly sections: Readonly<Record<string, Section>>
  /** The specifier in the configuration by plugin name: a built-in name, a path or an npm package. */
  readonly specifiers: Readonly<Record<string, string>>
  /** Sentences about external plugins that were loaded for the first time, and so trusted. */
  readonly firstTrusted: readonly string[]
}

interface Options<P> {
  readonly half: Half
  readonly builtin: Builtin<P>
  /** `[plugins]` of the configuration: name, './path' or npm package to section. */
  readonly table: Readonly<Record<string, Section>>
  readonly baseDir: string // folder of the configuration: paths and packages are resolved from here
  /** Imports a half of an external plugin; null if it has no agent half. */
  readonly importExternal: ImportExternal
  readonly placeOf?: PlaceOf | undefined
}

const Plugins = Type.Object({
  plugins: Type.Record(
    Type.String(),
    Type.Object({ enabled: Type.Optional(Type.Boolean()), development: Type.Optional(Type.Boolean()) }),
    { default: {} }
  )
})

/** Returns `[plugins]` of a parsed configuration. Each section is validated later, by its plugin's schema. */
export function pluginSections(file: Section, placeOf?: PlaceOf): Readonly<Record<string, Section>> {
  const { value, problems } = validateConfig(
    Plugins,
    'plugins' in file ? { plugins: file['plugins'] } : {},
    '',
    placeOf
  )
  throwProblems(problems)
  return value['plugins'] as Readonly<Record<string, Section>> // validated above
}

/** Throws for sections that name no plugin. */
function refuseUnknown<P>({ builtin, table, baseDir, placeOf = () => null }: Options<P>): void {
  const problems = Object.keys(table)
    .filter(name => !Object.hasOwn(builtin, name))
    .filter(name => !findHalf(name, 'plugin', baseDir) && !findHalf(name, 'agent', baseDir))
    .map(name => {
      const key = `plugins.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}`
      const near = suggestion(name, Object.keys(builtin))
      return atPlace({ key, text: `${key}: there is no such plugin here${near}` }, placeOf)
    })
  throwProblems(problems)
}

/** Returns a section without the loader's keys. `development` is a key of the loader only for external plugins. */
export function settingsIn({ enabled: _, ...section }: Section, origin: 'built-in' | 'external'): Section {
  const { development: __, ...settings } = section
  return origin === 'built-in' ? section : settings
}

/** Imports the enabled built-in plugins and the plugins that the configuration names. Does not start them. */
export async function loadPlugins<P extends { readonly name: string }>(
  options: Options<P>
): Promise<LoadedPlugins<P>> {
  const { half, builtin, table, baseDir, importExternal } = options
  refuseUnknown(options)
  const problems: string[] = []
  const plugins: P[] = []
  const sections: Record<string, Section> = {}
  const specifiers: Record<string, string> = {}
  const firstTrusted: string[] = []

  for (const specifier of new Set([...Object.keys(builtin), ...Object.keys(table)])) {
    const { enabled = true, development = false } = table[specifier] ?? {}
    if (enabled === false) continue
    const load = builtin[specifier]
    try {
      const trusted = development === true ? 'present' : 'recorded'
      const imported = load
        ? { module: await load() }
        : await importExternal(specifier, half, baseDir, trusted)
      if (imported === null) continue
      const { default: plugin } = imported.module as { readonly default?: P }
      if (typeof plugin?.name !== 'string')
        throw new Error('its default export is missing or is not a manifest')
      if (Object.hasOwn(specifiers, plugin.name))
        throw new Error(
          `its name ${plugin.name} is also the name of ${specifiers[plugin.name]}; remove one of them`
        )
      if (!load) markOutside(plugin.name)
      plugins.push(plugin)
      sections[plugin.name] = settingsIn(table[specifier] ?? {}, load ? 'built-in' : 'external')
      specifiers[plugin.name] = specifier
      if ('firstTrusted' in imported && imported.firstTrusted)
        firstTrusted.push(describeTrust(specifier, imported.firstTrusted))
    } catch (error) {
      problems.push(`plugin ${specifier}: ${reasonOf(error)}`)
    }
  }
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
  return { plugins, sections, specifiers, firstTrusted }
}

const describeTrust = (specifier: string, { name, version, sha256 }: Trusted): string =>
  `plugin ${specifier} (${name} ${version}, sha256 ${sha256}) was loaded for the first time, and its files are now trusted; ` +
  'if you did not install them, remove it from the configuration and from plugins.lock'
