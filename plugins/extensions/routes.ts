import { type Static, Type } from 'typebox'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { index } from '../../config/command-index.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defineList, type MountedPlugins, managesUsers } from '../http/exports.ts'
import { describePlugin } from './describe-plugin.ts'
import { listSettings } from './settings.ts'

interface Deps extends Kernel {
  readonly mountedPlugins: MountedPlugins
}

const Texts = (description: string, examples: readonly string[]) =>
  Type.Array(Type.String(), { description, examples: [examples] })
const Versions = (description: string) =>
  Type.Record(Type.String(), Type.String(), { description, examples: [{ http: '^1.0.0' }] })

const PluginRow = closed(
  {
    name: Type.String({ description: 'Name of the plugin.', examples: ['quota'] }),
    version: Type.String({ description: 'Version of the plugin.', examples: ['1.0.0'] }),
    description: Type.String({ description: 'One sentence, or empty.' }),
    from: Type.Union([Type.Literal('built in'), Type.Literal('external')], {
      description: 'external: the configuration adds the plugin, and its files are trusted.'
    }),
    kernel: Type.String({
      description: 'Version range of the kernel contract that it supports.',
      examples: ['^2.0.0']
    }),
    needs: Versions('Plugins that it needs, and their versions.'),
    routes: Texts('Routes that it serves.', ['GET /v1/quotas']),
    commands: Texts('Commands that it adds.', ['quota list']),
    tables: Texts('Its tables in the store.', ['quota']),
    slots: Texts('Slots that other plugins can fill.', ['quota.level']),
    fills: Texts('Slots that it fills.', ['kernel.metrics']),
    fields: Texts('Rule fields of its agent half.', ['quota']),
    capabilities: Versions('Required agent capabilities, each with the first agent version that has it.'),
    has_agent: Type.Boolean({ description: 'Whether the server knows an agent half of the plugin.' }),
    may: Texts('Permissions.', ['answer requests', 'store tables']),
    settings: Type.Array(
      closed({
        key: Type.String({ description: 'Key in the configuration.', examples: ['quota_hold_secs'] }),
        description: Type.String({ description: 'Meaning of the setting.' }),
        value: Type.Unknown({ description: 'Current value; null: not set or hidden.', examples: [60] }),
        hidden: Type.Boolean({
          description: 'Set but not shown, because it may be a secret.',
          examples: [false]
        }),
        is_default: Type.Boolean({ description: "Whether the value is the plugin's default." })
      }),
      { description: 'Its settings, for superadmins; empty for others.' }
    )
  },
  { $id: 'Plugin' }
)
type PluginRow = Static<typeof PluginRow>

const list = defineList({
  url: '/v1/plugins',
  action: 'plugin.list',
  access: 'viewer',
  summary: 'Lists the plugins of this server, with their settings and permissions.',
  description:
    'Only superadmins see settings. Strings in settings of external plugins are hidden, because they may be secrets.',
  schema: () => ({ row: PluginRow, errors: [] }),
  run: async ({ mountedPlugins }: Deps, { principal }) => listRows(mountedPlugins, managesUsers(principal))
})

export const routes = [list]

async function listRows(mountedPlugins: MountedPlugins, showsSettings: boolean): Promise<PluginRow[]> {
  const mounted = mountedPlugins.all()
  const servers = mounted.map(({ plugin }) => plugin)
  const agents = await loadAgentHalves(servers.map(({ name }) => name))
  return mounted
    .map(one => {
      const { name, description = '', kernel } = one.plugin
      const from = index.plugins.includes(name) ? 'built in' : 'external'
      const described = describePlugin({ servers, agents, fromOf: () => from }, name)
      const { agent, contracts: _, services: __, ...row } = described
      return {
        ...row,
        description,
        kernel,
        from,
        has_agent: agent !== null,
        settings: showsSettings ? listSettings(one, from) : []
      }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1)) as PluginRow[] // the schema type has mutable arrays
}

/** Loads the agent halves of built-in plugins, at each request. A server has no access to the agent halves of others. */
async function loadAgentHalves(names: readonly string[]): Promise<readonly AgentPlugin[]> {
  const found = names.flatMap(name => agentPlugins[name] ?? [])
  return (await Promise.all(found.map(load => load()))).map(({ default: half }) => half)
}
