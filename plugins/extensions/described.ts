// A plugin as its operator wants to know it: what it brings, and what it may do.
import type { AgentPlugin } from '../../agent/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'

export interface Described {
  readonly name: string
  readonly version: string
  readonly from: string // 'built in', a path, or an npm package
  readonly needs: readonly string[]
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
  'kernel.authenticator': 'says who a caller is',
  'kernel.control': 'serves the control stream',
  'kernel.decision': 'sees every change and every denial',
  'kernel.host': 'serves the operator API',
  'kernel.kind': 'keeps objects on agents'
}

export function describe({ server, agent }: Halves, from: string): Described {
  const fills = [...new Set((server?.fills ?? []).map(({ slot }) => slot.id))]
  return {
    name: server?.name ?? agent?.name ?? '',
    version: server?.version ?? '',
    from,
    needs: Object.keys(server?.needs ?? {}),
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
      ...(server?.store ? ['keep tables'] : []),
      ...fills.flatMap(id => powers[id] ?? []),
      ...(agent?.fields?.length ? ['change how rules are forwarded'] : [])
    ]
  }
}
