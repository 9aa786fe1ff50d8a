// The command `sluice agent status` of a running agent.
import { timestamp } from '../../kernel/base/clock.ts'
import type { AgentOptions, Components } from '../components.ts'
import { type AgentCall, type AgentPlugin, capabilitiesOf, type ObjectFailure } from '../plugin.ts'
import type { ServerConnection } from '../stream/server-connection.ts'
import { ruleKind } from '../wire/rule-kind.ts'
import type { LocalCommand } from './control-socket.ts'

/** The state of the agent, and lists of its plugins by their names. */
export type AgentStatus = OwnStatus & Readonly<Record<string, unknown>>

interface OwnStatus {
  readonly client_id: string
  readonly client_name: string
  readonly server_endpoint: string
  readonly connected: boolean
  readonly since: string // RFC 3339, by this host's clock
  readonly reason: string | null // why it is not connected
  readonly version: string
  readonly engine: string
  readonly rules: Readonly<Record<'open' | 'closed' | 'failed', number>>
  readonly connections: number // open connections and flows
  /** The first 100 closed rules, and failed and deferred objects. */
  readonly not_in_force: readonly ObjectFailure[]
  readonly plugins: readonly LoadedPlugin[]
}

interface LoadedPlugin {
  readonly name: string
  readonly capabilities: Readonly<Record<string, string>> // id to version
}

interface Running {
  readonly options: Pick<AgentOptions, 'version' | 'engineName'>
  readonly components: Pick<Components, 'rules' | 'objects' | 'call'>
  readonly connection: Pick<ServerConnection, 'status'>
  readonly plugins: () => readonly AgentPlugin[]
}

const maxShown = 100

export const statusCommand = (running: Running): LocalCommand => ({
  name: 'status',
  run: () => statusOf(running)
})

function statusOf({ options, components, connection, plugins }: Running): AgentStatus {
  const { rules, objects, call } = components
  const { bundle, endpoint, isConnected, sinceMs, reason } = connection.status()
  const closed = [...rules.closed()]
  const failed = objects.notInForce()
  const active = call.takeSample().rules.flatMap(({ ports }) => ports.map(port => port.active))
  return {
    ...listsOf(plugins(), call),
    client_id: bundle.client_id,
    client_name: bundle.client_name,
    server_endpoint: endpoint,
    connected: isConnected,
    since: timestamp(sinceMs),
    reason: isConnected ? null : reason,
    version: options.version,
    engine: options.engineName,
    rules: {
      open: rules.runningCount() - closed.length,
      closed: closed.length,
      failed: failed.filter(({ kind }) => kind === ruleKind).length
    },
    connections: active.reduce((sum, count) => sum + count, 0),
    not_in_force: [
      ...failed,
      ...closed.map(([id, reason]) => ({ kind: ruleKind, id, reason, message: 'closed' }))
    ].slice(0, maxShown),
    plugins: plugins().map(plugin => ({ name: plugin.name, capabilities: capabilitiesOf(plugin) }))
  }
}

/** Returns the first rows of each list of the plugins. */
function listsOf(plugins: readonly AgentPlugin[], call: AgentCall): Record<string, unknown> {
  const lists = plugins.flatMap(plugin => Object.entries(plugin.status?.(call) ?? {}))
  return Object.fromEntries(lists.map(([name, rows]) => [name, rows.slice(0, maxShown)]))
}
