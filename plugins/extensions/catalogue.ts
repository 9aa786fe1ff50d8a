// The server and agent halves of the plugins in a configuration.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AgentPlugin } from '../../agent/plugin.ts'
import type { PlaceOf } from '../../kernel/base/config.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { type ConfigFile, readConfigFile } from '../../kernel/platform/config-file.ts'
import type { BuiltinPlugins } from '../../kernel/platform/plugins/builtin-plugins.ts'
import { importPlugin } from '../../kernel/platform/plugins/import-plugin.ts'
import { loadPlugins, pluginSections, settingsIn } from '../../kernel/platform/plugins/load-plugins.ts'
import { findHalf, type Half } from '../../kernel/platform/plugins/resolve-plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Settings } from '../../kit/conformance.ts'
import { importExternal } from './trust/import-external.ts'

export interface Catalogue {
  readonly servers: readonly Plugin[]
  readonly agents: readonly AgentPlugin[]
  /** Returns 'built in', or the plugin's key in the configuration: a path or an npm package. */
  readonly fromOf: (name: string) => string
}

export interface PickedPlugin extends Catalogue {
  readonly name: string
}

interface Source {
  readonly file: ConfigFile | null
  readonly table: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly baseDir: string
  readonly placeOf: PlaceOf
}

/** Reads `[plugins]` of a configuration and the base directory of relative paths. */
export function readSource(path: string | undefined): Source {
  if (path === undefined) return { file: null, table: {}, baseDir: process.cwd(), placeOf: () => null }
  const file = readConfigFile(path)
  const table = pluginSections(file.table, file.placeOf)
  return { file, table, baseDir: dirname(resolve(path)), placeOf: file.placeOf }
}

/** Returns the settings of the plugin in a folder, under any key in the configuration, and the other plugins. */
export async function settingsFor(
  dir: string,
  builtin: BuiltinPlugins,
  configFile: string | undefined
): Promise<Settings> {
  const { file, table, ...source } = readSource(configFile)
  if (file === null) return {}
  const half = findRealHalf(dir, 'plugin', dir)
  const isIt = (name: string): boolean =>
    half !== null && findRealHalf(name, 'plugin', source.baseDir) === half
  const own = Object.entries(table).find(([name]) => isIt(name))
  const beside = Object.fromEntries(Object.entries(table).filter(([name]) => !isIt(name)))
  const { servers, agents } = await loadHalves(builtin, { file, ...source, table: beside })
  const others = { servers: servers.plugins, agents: agents.plugins, sections: servers.sections }
  return { keys: file.table, section: settingsIn(own?.[1] ?? {}, 'external'), others }
}

async function loadHalves(builtin: BuiltinPlugins, source: Source) {
  const isOnServerOnly = (name: string): boolean => name in builtin.server && !(name in builtin.agent)
  const servers = await loadPlugins<Plugin>({
    half: 'plugin',
    builtin: builtin.server,
    importExternal,
    ...source
  })
  const agents = await loadPlugins<AgentPlugin>({
    half: 'agent',
    builtin: builtin.agent,
    importExternal,
    ...source,
    table: Object.fromEntries(Object.entries(source.table).filter(([name]) => !isOnServerOnly(name)))
  })
  for (const text of new Set([...servers.firstTrusted, ...agents.firstTrusted]))
    process.stderr.write(`note: ${text}\n`)
  return { servers, agents }
}

export async function loadCatalogue(
  builtin: BuiltinPlugins,
  configFile: string | undefined
): Promise<Catalogue> {
  const { servers, agents } = await loadHalves(builtin, readSource(configFile))
  const specifiers = { ...agents.specifiers, ...servers.specifiers }
  return {
    servers: servers.plugins,
    agents: agents.plugins,
    fromOf: name => (name in builtin.server ? 'built in' : (specifiers[name] ?? name))
  }
}

/** Returns a loaded plugin by name, or also loads the plugin at a path. */
export async function pickPlugin(loaded: Catalogue, wanted: string): Promise<PickedPlugin> {
  const { servers, agents, fromOf } = loaded
  const known = [...servers, ...agents].find(({ name }) => name === wanted || fromOf(name) === wanted)
  if (known) return { ...loaded, name: known.name }
  if (!existsSync(wanted))
    throw new Fault(wrongUsage, `${wanted} is neither a loaded plugin nor a folder; see sluice plugin list`)
  const server = await importHalf<Plugin>(wanted, 'plugin')
  const agent = await importHalf<AgentPlugin>(wanted, 'agent')
  const { name: found } = server ?? agent ?? {}
  if (found === undefined)
    throw new Error(`${wanted} has no plugin.ts, plugin.js, agent.ts or agent.js with a default export`)
  return {
    servers: server ? [...new Set([...servers, server])] : servers,
    agents: agent ? [...new Set([...agents, agent])] : agents,
    fromOf: name => (name === found ? wanted : fromOf(name)),
    name: found
  }
}

async function importHalf<P>(path: string, half: Half): Promise<P | undefined> {
  const file = findRealHalf(resolve(path), half, process.cwd())
  if (file === null) return undefined
  const { default: plugin } = (await importPlugin(file)) as { readonly default?: P }
  return plugin
}

/** Returns the real path of the half's file, or null. */
function findRealHalf(specifier: string, half: Half, baseDir: string): string | null {
  const file = findHalf(specifier, half, baseDir)
  return file === null ? null : realpathSync(file)
}
