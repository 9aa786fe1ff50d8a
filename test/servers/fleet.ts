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
  /** What each agent has: revisions of rules. */
  | { readonly do: 'rules' }

/** Where each agent is connected: the port of its server, or 0. */
export interface Where {
  readonly ports: Readonly<Record<string, number>>
}

/** Rules of each agent. */
export interface Held {
  readonly rules: Readonly<Record<string, readonly string[]>>
}

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

const scriptOf = ({ token, at, rules, generation }: Edge) => ({
  ...{ token, generation, messages },
  localAddress: addressOf(at),
  instanceId: token,
  capabilities: { [updateCapability.id]: updateCapability.since },
  inventory: [...rules].map(([id, revision]) => ({ kind: 'rule', id, revision })),
  responses: [
    scriptedResponse(RulePush, ({ rule_id, revision }) => {
      rules.set(rule_id, revision)
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
  if (order.do === 'rules')
    return { rules: Object.fromEntries(edges.map(({ clientId, rules }) => [clientId, [...rules.keys()]])) }
  return { ports: Object.fromEntries(edges.map(({ clientId, port }) => [clientId, port])) } satisfies Where
})
