// The plugins of a configuration, in both halves.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { importExternal, importPlugin } from '../../config/external/import.ts'
import { type Half, loadPlugins, pluginSections } from '../../config/external/load.ts'
import { findHalf } from '../../config/external/resolve.ts'
import { plugins as builtin } from '../../config/plugins.ts'
import { parseFile } from '../../kernel/base/config.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Settings } from '../../kit/conformance.ts'

export interface Loaded {
  readonly servers: readonly Plugin[]
  readonly agents: readonly AgentPlugin[]
  /** Returns 'built in', or what the configuration calls the plugin: a path or an npm package. */
  readonly fromOf: (name: string) => string
}

export interface Picked extends Loaded {
  readonly name: string
}

/** Returns `[plugins]` of a configuration, and the directory from which its paths are resolved. */
export function sourceOf(configFile: string | undefined): {
  readonly table: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly baseDir: string
} {
  if (configFile === undefined) return { table: {}, baseDir: process.cwd() }
  return { table: pluginSections(parseFile(configFile)), baseDir: dirname(resolve(configFile)) }
}

/** Returns the settings of the plugin in a folder, whatever the configuration calls it. */
export function settingsFor(dir: string, configFile: string | undefined): Settings {
  if (configFile === undefined) return {}
  const { table, baseDir } = sourceOf(configFile)
  const file = halfOf(dir, 'plugin', dir)
  const named = Object.keys(table).find(name => file !== null && halfOf(name, 'plugin', baseDir) === file)
  const { enabled: _, ...section } = table[named ?? ''] ?? {}
  return { keys: parseFile(configFile), section }
}

export async function load(configFile: string | undefined): Promise<Loaded> {
  const source = sourceOf(configFile)
  const servers = await loadPlugins<Plugin>({ half: 'plugin', builtin, importExternal, ...source })
  const agents = await loadPlugins<AgentPlugin>({
    half: 'agent',
    builtin: agentPlugins,
    importExternal,
    ...source
  })
  const specifiers = { ...agents.specifiers, ...servers.specifiers }
  return {
    servers: servers.plugins,
    agents: agents.plugins,
    fromOf: name => (name in builtin ? 'built in' : (specifiers[name] ?? name))
  }
}

/** Picks a loaded plugin by name, or loads the one at a path in addition to the others. */
export async function pick(loaded: Loaded, wanted: string): Promise<Picked> {
  const { servers, agents, fromOf } = loaded
  const known = servers.find(({ name }) => name === wanted || fromOf(name) === wanted)
  if (known) return { ...loaded, name: known.name }
  if (!existsSync(wanted))
    throw new Fault(
      wrongUsage,
      `no plugin ${wanted} is loaded, and no folder has this name; see sluice plugin list`
    )
  const server = await halfAt<Plugin>(wanted, 'plugin')
  if (!server) throw new Error(`${wanted} has no plugin.ts or plugin.js with a default export`)
  const agent = await halfAt<AgentPlugin>(wanted, 'agent')
  return {
    servers: [...new Set([...servers, server])],
    agents: agent ? [...new Set([...agents, agent])] : agents,
    fromOf: name => (name === server.name ? wanted : fromOf(name)),
    name: server.name
  }
}

async function halfAt<P>(path: string, half: Half): Promise<P | undefined> {
  const file = halfOf(resolve(path), half, process.cwd())
  if (file === null) return undefined
  const { default: plugin } = (await importPlugin(file)) as { readonly default?: P }
  return plugin
}

/** Returns the real path of the half's file, without links. */
function halfOf(specifier: string, half: Half, baseDir: string): string | null {
  const file = findHalf(specifier, half, baseDir)
  return file === null ? null : realpathSync(file)
}
