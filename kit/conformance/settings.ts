// The settings for checking a plugin, and the plugins beside it.
import { type TObject, Type } from 'typebox'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { validateConfig } from '../../kernel/base/config.ts'
import type { BuiltinPlugins } from '../../kernel/platform/plugins/builtin-plugins.ts'
import type { Plugin } from '../../kernel/plugin.ts'

export type Table = Readonly<Record<string, unknown>>

export interface Settings {
  /** Top-level keys of the configuration; those of built-in plugins are ignored. */
  readonly keys?: Table
  /** The plugin's section. */
  readonly section?: Table
  /** The other plugins of the configuration; default: the built-in ones. */
  readonly others?: Others
}

export interface Others {
  readonly servers: readonly Plugin[]
  readonly agents: readonly AgentPlugin[]
  readonly sections: Readonly<Record<string, Table>> // by plugin
}

const all = <P>(halves: Readonly<Record<string, () => Promise<{ readonly default: P }>>>): Promise<P[]> =>
  Promise.all(Object.values(halves).map(async load => (await load()).default))

export const builtinOnly = async ({ server, agent }: BuiltinPlugins): Promise<Others> => ({
  servers: await all(server),
  agents: await all(agent),
  sections: {}
})

type Configured = Pick<Plugin, 'name'> & { readonly config?: TObject | undefined; readonly keys?: TObject }

/** Validates the plugin's part of the configuration, like a start does. */
export function settingProblems(plugin: Configured, settings: Settings): string[] {
  const { name, config = Type.Object({}), keys } = plugin
  const section = validateConfig(config, settings.section, `plugins.${name}`)
  const top = validateConfig(keys ?? Type.Object({}), keysOf([plugin], settings), '')
  return [...section.problems, ...top.problems].map(
    problem => `${problem}; the settings it is checked with are those of --config FILE`
  )
}

/** Returns the top-level keys that belong to the plugins. */
export function keysOf(plugins: readonly Configured[], { keys = {} }: Settings): Table {
  const known = new Set(plugins.flatMap(plugin => Object.keys(plugin.keys?.properties ?? {})))
  return Object.fromEntries(Object.entries(keys).filter(([key]) => known.has(key)))
}
