// All plugins that a configuration means, in both halves.
import { dirname, resolve } from 'node:path'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { loadPlugins } from '../../config/load.ts'
import { plugins as builtin } from '../../config/plugins.ts'
import { parseFile } from '../../kernel/base/config.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { type Described, describe } from './described.ts'

type Table = Readonly<Record<string, unknown>>

/** `[plugins]` of a configuration, and where its paths begin. */
export function sourceOf(configFile: string | undefined): {
  readonly table: Table
  readonly baseDir: string
} {
  if (configFile === undefined) return { table: {}, baseDir: process.cwd() }
  const table = (parseFile(configFile)['plugins'] ?? {}) as Table // checked by whoever loads it
  return { table, baseDir: dirname(resolve(configFile)) }
}

export async function catalogue(configFile: string | undefined): Promise<Described[]> {
  const source = sourceOf(configFile)
  const servers = await loadPlugins<Plugin>({ half: 'plugin', builtin, ...source })
  const agents = await loadPlugins<AgentPlugin>({ half: 'agent', builtin: agentPlugins, ...source })
  const foreign = new Map<string, string>()
  for (const specifier of Object.keys(source.table).filter(name => !(name in builtin)))
    for (const name of await namesOf(specifier, source.baseDir)) foreign.set(name, specifier)
  const names = new Set([...servers.plugins, ...agents.plugins].map(({ name }) => name))
  return [...names].sort().map(name =>
    describe(
      {
        server: servers.plugins.find(plugin => plugin.name === name) ?? null,
        agent: agents.plugins.find(plugin => plugin.name === name) ?? null
      },
      foreign.get(name) ?? 'built in'
    )
  )
}

async function namesOf(specifier: string, baseDir: string): Promise<string[]> {
  const { plugins } = await loadPlugins<Plugin>({
    half: 'plugin',
    builtin: {},
    table: { [specifier]: {} },
    baseDir
  })
  return plugins.map(({ name }) => name)
}
