import { type Static, Type } from 'typebox'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { index } from '../../config/command-index.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { MountedPlugins } from '../http/exports.ts'
import { describe } from './described.ts'
import { settingsOf } from './settings.ts'

interface Deps extends Kernel {
  readonly mountedPlugins: MountedPlugins
}

const Texts = (description: string, examples: readonly string[]) =>
  Type.Array(Type.String(), { description, examples: [examples] })
const Versions = (description: string) =>
  Type.Record(Type.String(), Type.String(), { description, examples: [{ http: '^1.0.0' }] })

const PluginRow = closed(
  {
    name: Type.String({ description: 'Of the plugin.', examples: ['quota'] }),
    version: Type.String({ description: 'Its own.', examples: ['1.0.0'] }),
    description: Type.String({ description: 'One sentence; empty where it has none.' }),
    from: Type.Union([Type.Literal('built in'), Type.Literal('external')], {
      description: 'external: the configuration names it, and its files are trusted.'
    }),
    kernel: Type.String({
      description: 'Version of the contract that it is written for.',
      examples: ['^2.0.0']
    }),
    needs: Versions('Plugins that it needs, and their versions.'),
    routes: Texts('Routes that it answers.', ['GET /v1/quotas']),
    commands: Texts('Commands that it adds.', ['quota list']),
    tables: Texts('Its tables in the store.', ['quota']),
    slots: Texts('Slots that other plugins may fill.', ['quota.level']),
    fills: Texts('Slots that it fills.', ['kernel.metrics']),
    fields: Texts('Rule fields of its agent half.', ['quota']),
    capabilities: Versions('What agents must be able to do, and since which version they are.'),
    has_agent: Type.Boolean({ description: 'Whether it has a half on agents, as far as the server knows.' }),
    may: Texts('What it may do.', ['answer requests', 'keep tables']),
    settings: Type.Array(
      closed({
        key: Type.String({ description: 'As in the configuration.', examples: ['quota_hold_secs'] }),
        description: Type.String({ description: 'What it means.' }),
        value: Type.Unknown({ description: 'In force; null: not set, or hidden.', examples: [60] }),
        hidden: Type.Boolean({ description: 'Set, and not shown: it may be a secret.', examples: [false] }),
        is_default: Type.Boolean({ description: 'The value is that of the plugin.' })
      }),
      { description: 'Its settings.' }
    )
  },
  { $id: 'Plugin' }
)
type PluginRow = Static<typeof PluginRow>

const list = defineList({
  url: '/v1/plugins',
  action: 'plugin.list',
  access: 'superadmin',
  summary: 'Lists the plugins of this server, with their settings and what each may do.',
  description: 'Strings in settings of external plugins are hidden, since they may be secrets.',
  schema: () => ({ row: PluginRow, errors: [] }),
  run: async ({ mountedPlugins }: Deps) => rowsOf(mountedPlugins)
})

export const routes = [list]

async function rowsOf(mountedPlugins: MountedPlugins): Promise<PluginRow[]> {
  const mounted = mountedPlugins.all()
  const servers = mounted.map(({ plugin }) => plugin)
  const agents = await agentHalvesOf(servers.map(({ name }) => name))
  return mounted
    .map(one => {
      const { name, description = '', kernel } = one.plugin
      const from = index.plugins.includes(name) ? 'built in' : 'external'
      const described = describe({ servers, agents, fromOf: () => from }, name)
      const { agent, contracts: _, services: __, ...row } = described
      return { ...row, description, kernel, from, has_agent: agent !== null, settings: settingsOf(one, from) }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1)) as PluginRow[] // rows are read-only here, and the same
}

/** Those of built-in plugins: a server does not run the agent halves of others. They are loaded when somebody asks. */
async function agentHalvesOf(names: readonly string[]): Promise<readonly AgentPlugin[]> {
  const found = names.flatMap(name => agentPlugins[name] ?? [])
  return (await Promise.all(found.map(load => load()))).map(({ default: half }) => half)
}
