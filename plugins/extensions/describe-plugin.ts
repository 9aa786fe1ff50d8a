import { type AgentPlugin, capabilitiesOf } from '../../agent/plugin.ts'
import type { Catalogue } from './catalogue.ts'

export interface PluginDescription {
  readonly name: string
  readonly version: string
  readonly from: string // 'built in', a path, or an npm package
  readonly contracts: Readonly<Record<string, string>> // version range by 'kernel' and 'agent'
  readonly needs: Readonly<Record<string, string>> // version range by plugin
  readonly routes: readonly string[]
  readonly commands: readonly string[]
  readonly tables: readonly string[]
  readonly services: readonly string[] // exported to plugins that need it
  readonly slots: readonly string[] // that it owns
  readonly fills: readonly string[]
  readonly fields: readonly string[] // rule fields of its agent half
  readonly capabilities: Readonly<Record<string, string>>
  readonly agent: AgentDescription | null // null: it has no agent half
  readonly may: readonly string[] // permissions
}

interface AgentDescription {
  readonly settings: readonly string[] // keys of [plugins.<name>] in the agent's configuration
  readonly commands: readonly string[] // 'agent deny-list'
  readonly kinds: readonly string[] // of managed objects
  readonly shapes: readonly string[] // of rules
  readonly meters: boolean // it adds meters to rules
  readonly metrics: boolean // it has metrics on the agent's /metrics
}

const describeAgent = (agent: AgentPlugin): AgentDescription => ({
  settings: Object.keys(agent.config?.properties ?? {}),
  commands: (agent.commands ?? []).map(({ name }) => `agent ${name}`),
  kinds: (agent.kinds ?? []).map(({ kind }) => kind),
  shapes: (agent.shapes ?? []).map(({ shape }) => shape),
  meters: agent.meters !== undefined,
  metrics: agent.metrics !== undefined
})

/** The permission that a plugin gets when it fills a slot, for the operator who decides to trust it. */
const permissions: Readonly<Record<string, string>> = {
  'kernel.authenticator': 'authenticate callers',
  'auth.step': 'refuse sign-ins with a password',
  'kernel.connection': 'see agents connect and disconnect',
  'kernel.control': 'serve the control stream',
  'http.decision': 'record every change and every denied request',
  'http.required-decision': 'refuse changes that it cannot record',
  'kernel.metrics': 'export metrics',
  'kernel.host': 'serve the operator API',
  'kernel.object-kind': 'store objects on agents',
  'kernel.revocation': 'revoke restored access',
  'clients.visible': 'decide who sees which clients',
  'rules.admit': 'decide who may place rules',
  'rules.field': 'store values of rules'
}

/** Describes a plugin for operators: its additions and permissions. */
export function describePlugin({ servers, agents, fromOf }: Catalogue, plugin: string): PluginDescription {
  const server = servers.find(({ name }) => name === plugin)
  const agent = agents.find(({ name }) => name === plugin)
  const from = fromOf(plugin)
  const fills = [...new Set((server?.fills ?? []).map(({ slot }) => slot.id))]
  return {
    name: plugin,
    version: server?.version ?? '',
    from,
    contracts: { ...(server && { kernel: server.kernel }), ...(agent && { agent: agent.agent }) },
    needs: server?.needs ?? {},
    routes: (server?.routes ?? []).map(({ method, url }) => `${method} ${url}`),
    commands: (server?.commands ?? []).map(({ name }) => name),
    tables: (server?.store?.entities ?? []).map(({ meta }) => meta.tableName),
    services: Object.keys(server?.exports ?? {}),
    slots: (server?.slots ?? []).map(({ id }) => id),
    fills,
    fields: (agent?.fields ?? []).map(({ key }) => key),
    capabilities: agent ? capabilitiesOf(agent) : {},
    agent: agent ? describeAgent(agent) : null,
    may: [
      ...(from === 'built in' ? [] : ['run any code as the user of the process']),
      ...(server?.routes?.length ? ['answer requests'] : []),
      ...(server?.routes?.some(({ access }) => access === 'public')
        ? ['answer unauthenticated requests']
        : []),
      ...(server?.handlers?.length ? ['receive messages of agents'] : []),
      ...(server?.store ? ['store tables'] : []),
      ...fills.flatMap(id => permissions[id] ?? []),
      ...(agent?.fields?.length ? ['change how rules are forwarded'] : [])
    ]
  }
}
