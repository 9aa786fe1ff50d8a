// A plugin as its operator wants to know it: what it brings, and what it may do.
import type { AgentPlugin } from '../../agent/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'

export interface Described {
  readonly name: string
  readonly version: string
  readonly from: string // 'built in', a path, or an npm package
  readonly contracts: Readonly<Record<string, string>> // 'kernel', 'agent' to the range it was written for
  readonly needs: Readonly<Record<string, string>> // plugin to range
  readonly routes: readonly string[]
  readonly commands: readonly string[]
  readonly tables: readonly string[]
  readonly slots: readonly string[] // its own
  readonly fills: readonly string[]
  readonly fields: readonly string[] // rule fields that its half on agents plans
  readonly capabilities: Readonly<Record<string, string>>
  readonly may: readonly string[]
}

export interface Halves {
  readonly server: Plugin | null
  readonly agent: AgentPlugin | null
}

/** What filling a place of the kernel's means for whoever trusts the plugin. */
const powers: Readonly<Record<string, string>> = {
  'kernel.authenticator': 'say who a caller is',
  'kernel.connection': 'see agents come and go',
  'kernel.control': 'serve the control stream',
  'kernel.decision': 'see every change and every denial',
  'kernel.metrics': 'tell figures',
  'kernel.host': 'serve the operator API',
  'kernel.object-kind': 'keep objects on agents',
  'rules.admit': 'say who may place rules'
}

export function describe({ server, agent }: Halves, from: string): Described {
  const fills = [...new Set((server?.fills ?? []).map(({ slot }) => slot.id))]
  return {
    name: server?.name ?? agent?.name ?? '',
    version: server?.version ?? '',
    from,
    contracts: { ...(server && { kernel: server.kernel }), ...(agent && { agent: agent.agent }) },
    needs: server?.needs ?? {},
    routes: (server?.routes ?? []).map(({ method, url }) => `${method} ${url}`),
    commands: (server?.commands ?? []).map(({ name }) => name),
    tables: (server?.store?.entities ?? []).map(({ meta }) => meta.tableName),
    slots: (server?.slots ?? []).map(({ id }) => id),
    fills,
    fields: (agent?.fields ?? []).map(({ key }) => key),
    capabilities: agent?.capabilities ?? {},
    may: [
      ...(from === 'built in' ? [] : ['run any code as the user of the process']),
      ...(server?.routes?.length ? ['answer requests'] : []),
      ...(server?.routes?.some(({ access }) => access === 'public') ? ['answer strangers'] : []),
      ...(server?.handlers?.length ? ['hear agents'] : []),
      ...(server?.store ? ['keep tables'] : []),
      ...fills.flatMap(id => powers[id] ?? []),
      ...(agent?.fields?.length ? ['change how rules are forwarded'] : [])
    ]
  }
}
