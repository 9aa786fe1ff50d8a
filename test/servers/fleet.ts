// Agents in a process of their own that know all servers. At the end of its stream, each goes on to the next server.
import { setTimeout as pause } from 'node:timers/promises'
import { connectAgent, type ScriptedAgent, scriptedResponse } from '../../kit/scripted-agent.ts'
import { messages, RulePush, RuleRemove, updateCapability } from '../../plugins/rules/wire.ts'
import { addressOf } from '../bench/scale/address.ts'
import { serveOrders } from '../bench/scale/processes.ts'
import type { Agent } from './place.ts'

export type FleetOrder =
  | {
      readonly do: 'begin'
      readonly agents: readonly Agent[]
      readonly ports: readonly number[]
      readonly fingerprint: string
    }
  | { readonly do: 'where' }
  /** The streams of this port end here, as those of agents that hear nothing for 30 s. */
  | { readonly do: 'leave'; readonly port: number }
  /** When each rule came to its agent the last time. */
  | { readonly do: 'arrivals' }

/** Where each agent is connected: the port of its server, or 0. */
export interface Where {
  readonly ports: Readonly<Record<string, number>>
}

/** In ms since 1970, by client and rule. */
export type Arrivals = Readonly<Record<string, number>>

interface Edge extends Agent {
  readonly at: number
  readonly rules: Map<string, number>
  generation: string
  port: number
  stream: ScriptedAgent | null
}

const connectMs = 15_000
const t = { teardown() {} } // the process ends
let edges: readonly Edge[] = []
const arrivals = new Map<string, number>()

const scriptOf = ({ clientId, token, at, rules, generation }: Edge) => ({
  ...{ token, generation, messages },
  localAddress: addressOf(at),
  instanceId: token,
  capabilities: { [updateCapability.id]: updateCapability.since },
  inventory: [...rules].map(([id, revision]) => ({ kind: 'rule', id, revision })),
  responses: [
    scriptedResponse(RulePush, ({ rule_id, revision }) => {
      rules.set(rule_id, revision)
      arrivals.set(`${clientId} ${rule_id}`, Date.now())
      return { rule_id, revision }
    }),
    scriptedResponse(RuleRemove, ({ rule_id, revision }) => {
      rules.delete(rule_id)
      return { rule_id, revision }
    })
  ]
})

/** Tries each server at once after the other; rests after each round, longer each time. */
async function live(edge: Edge, ports: readonly number[], fingerprint: string): Promise<never> {
  const first = edge.at % ports.length
  for (let tried = 0, failed = 0; ; tried++) {
    const port = ports[(first + tried) % ports.length] ?? 0
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), connectMs)
    try {
      edge.stream = await connectAgent(t, { ...scriptOf(edge), port, fingerprint, signal: giveUp.signal })
      clearTimeout(timer)
      edge.generation = edge.stream.welcome.generation
      edge.port = port
      failed = 0
      await edge.stream.closed()
      edge.port = 0
      await edge.stream.close()
    } catch {
      failed++ // a server that is gone, or full
    } finally {
      clearTimeout(timer)
    }
    const mostMs = Math.min(5_000, 500 * 2 ** Math.floor(failed / ports.length))
    await pause(Math.random() * mostMs)
  }
}

await serveOrders(async (order: FleetOrder) => {
  if (order.do === 'begin') {
    const { agents, ports, fingerprint } = order
    const fresh = { generation: '', port: 0, stream: null }
    edges = agents.map((agent, at) => ({ ...agent, ...fresh, at, rules: new Map() }))
    for (const edge of edges) void live(edge, ports, fingerprint)
    return {}
  }
  if (order.do === 'leave') {
    await Promise.all(edges.filter(({ port }) => port === order.port).map(({ stream }) => stream?.close()))
    return {}
  }
  if (order.do === 'arrivals') return Object.fromEntries(arrivals) satisfies Arrivals
  return { ports: Object.fromEntries(edges.map(({ clientId, port }) => [clientId, port])) } satisfies Where
})
