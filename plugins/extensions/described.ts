// Describes a plugin for operators: what it adds, and what it may do.
import { type AgentPlugin, capabilitiesOf } from '../../agent/plugin.ts'
import type { Loaded } from './catalogue.ts'

export interface Described {
  readonly name: string
  readonly version: string
  readonly from: string // 'built in', a path, or an npm package
  readonly contracts: Readonly<Record<string, string>> // 'kernel', 'agent' to version range
  readonly needs: Readonly<Record<string, string>> // plugin to range
  readonly routes: readonly string[]
  readonly commands: readonly string[]
  readonly tables: readonly string[]
  readonly services: readonly string[] // that plugins get which need it
  readonly slots: readonly string[] // that it owns
  readonly fills: readonly string[]
  readonly fields: readonly string[] // rule fields of its agent half
  readonly capabilities: Readonly<Record<string, string>>
  readonly agent: DescribedAgent | null // null: it has no agent half
  readonly may: readonly string[]
}

interface DescribedAgent {
  readonly settings: readonly string[] // keys of [plugins.<name>] in the agent's configuration
  readonly commands: readonly string[] // 'agent deny-list'
  readonly kinds: readonly string[] // of managed objects that it applies
  readonly shapes: readonly string[] // of rules that it supports
  readonly meters: boolean // it names meters that rules pass
  readonly metrics: boolean // it has metrics on the agent's /metrics
}

const describeAgent = (agent: AgentPlugin): DescribedAgent => ({
  settings: Object.keys(agent.config?.properties ?? {}),
  commands: (agent.commands ?? []).map(({ name }) => `agent ${name}`),
  kinds: (agent.kinds ?? []).map(({ kind }) => kind),
  shapes: (agent.shapes ?? []).map(({ shape }) => shape),
  meters: agent.meters !== undefined,
  metrics: agent.metrics !== undefined
})

/** Permissions that a plugin gets by filling a slot, for the operator who trusts it. */
const permissions: Readonly<Record<string, string>> = {
  'kernel.authenticator': 'authenticate callers',
  'kernel.connection': 'see agents connect and disconnect',
  'kernel.control': 'serve the control stream',
  'http.decision': 'see every change and every denied request',
  'kernel.metrics': 'export metrics',
  'kernel.host': 'serve the operator API',
  'kernel.object-kind': 'keep objects on agents',
  'kernel.revocation': 'revoke what a restore brings back',
  'clients.visible': 'decide who sees which clients',
  'rules.admit': 'decide who may place rules',
  'rules.field': 'store values of rules'
}

export function describe({ servers, agents, fromOf }: Loaded, plugin: string): Described {
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
      ...(server?.store ? ['keep tables'] : []),
      ...fills.flatMap(id => permissions[id] ?? []),
      ...(agent?.fields?.length ? ['change how rules are forwarded'] : [])
    ]
  }
}
