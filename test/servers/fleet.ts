// A process of agents that know all servers. When its stream ends, an agent moves to the next server.
import { setTimeout as pause } from 'node:timers/promises'
import {
  CommittedEpochs,
  StatsReport,
  messages as statsMessages,
  welcomePart
} from '../../agent/wire/journal-report.ts'
import { newId } from '../../kernel/platform/id.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { connectAgent, type ScriptedAgent, scriptedResponse } from '../../kit/scripted-agent.ts'
import { RulePush, RuleRemove, messages as ruleMessages, updateCapability } from '../../plugins/rules/wire.ts'
import { agentAddress } from '../bench/scale/agent-address.ts'
import { serveOrders } from '../bench/scale/processes.ts'
import { type AgentState, type CountedBytes, openAgentStates, type StoredRule } from './agent-states.ts'
import type { Agent } from './server-place.ts'

export type FleetOrder =
  | {
      readonly do: 'begin'
      readonly agents: readonly Agent[]
      readonly first: number // of the addresses of the agents
      readonly ports: readonly number[]
      readonly fingerprint: string
      readonly stateFile: string // '' stores nothing
    }
  | { readonly do: 'where' }
  /** The last arrival of each rule at its agent. */
  | { readonly do: 'arrivals' }
  /** Some agents end as if killed, and start again. */
  | { readonly do: 'restart'; readonly clientIds: readonly string[] }
  | { readonly do: 'count'; readonly more: boolean }
  | { readonly do: 'state' }

/** The connection of each agent: the port of its server, or 0. */
export interface Where {
  readonly ports: Readonly<Record<string, number>>
}

/** In ms since 1970, by client and rule. */
export type Arrivals = Readonly<Record<string, number>>

export interface FleetState {
  readonly pending: number // reports without acknowledgement
  readonly counted: readonly CountedBytes[]
  readonly rules: readonly StoredRule[]
}

interface Edge extends Agent {
  readonly at: number
  readonly state: AgentState
  instanceId: string
  port: number
  stream: ScriptedAgent | null
}

const connectMs = 15_000
const countMs = 1_000
const t = { teardown() {} } // the process ends
const messages = [...ruleMessages, ...statsMessages]
const codec = openCodec(messages)
const arrivals = new Map<string, number>()
let edges: readonly Edge[] = []
let isCounting = false

const scriptOf = ({ clientId, token, at, state, instanceId }: Edge) => ({
  token,
  messages,
  instanceId,
  generation: state.generation,
  localAddress: agentAddress(at),
  capabilities: { [updateCapability.id]: updateCapability.since },
  inventory: (generation: string) => state.inventoryIn(generation),
  responses: [
    scriptedResponse(RulePush, ({ rule_id, revision, listen_from, targets }) => {
      state.put({ ruleId: rule_id, revision, port: listen_from, value: targets[0]?.port ?? 0 })
      arrivals.set(`${clientId} ${rule_id}`, Date.now())
      return { rule_id, revision }
    }),
    scriptedResponse(RuleRemove, ({ rule_id, revision }) => {
      state.drop(rule_id)
      return { rule_id, revision }
    })
  ]
})

/** Tries each server in turn; pauses after each round, a little longer each time. */
async function live(edge: Edge, ports: readonly number[], fingerprint: string): Promise<never> {
  const first = edge.at % ports.length
  for (let tried = 0, failed = 0; ; tried++) {
    const port = ports[(first + tried) % ports.length] ?? 0
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), connectMs)
    try {
      edge.stream = await connectAgent(t, { ...scriptOf(edge), port, fingerprint, signal: giveUp.signal })
      clearTimeout(timer)
      edge.port = port
      failed = 0
      await join(edge, edge.stream)
      edge.port = 0
      await edge.stream.close()
    } catch {
      failed++ // a server that is down or full
    } finally {
      clearTimeout(timer)
    }
    const mostMs = Math.min(5_000, 500 * 2 ** Math.floor(failed / ports.length))
    await pause(Math.random() * mostMs)
  }
}

/** Resolves when the stream has ended. */
async function join({ state }: Edge, stream: ScriptedAgent): Promise<void> {
  const part = stream.welcome.parts[welcomePart]
  state.inventoryIn(stream.welcome.generation)
  state.reconcile(part ? codec.decode(CommittedEpochs, part).committed : {})
  let isReporting = false
  const timer = setInterval(async () => {
    if (isReporting) return
    isReporting = true
    await report(state, stream)
    isReporting = false
  }, countMs)
  await stream.closed()
  clearInterval(timer)
}

/** Adds unacknowledged counters to the next report. */
async function report(state: AgentState, { channel, ended }: ScriptedAgent): Promise<void> {
  try {
    for (const body of state.pending()) {
      const { epoch, seq } = await channel.request(StatsReport, body)
      state.acknowledge(epoch, seq)
    }
  } catch (error) {
    if (!ended.aborted && !(error instanceof Refused)) throw error // the store was down, or the answer was lost
  }
}

function restart(clientIds: readonly string[]): void {
  for (const edge of edges.filter(({ clientId }) => clientIds.includes(clientId))) {
    edge.instanceId = newId(Date.now())
    edge.state.begin()
    void edge.stream?.close()
  }
}

const answers: {
  readonly [D in FleetOrder['do']]: (order: Extract<FleetOrder, { readonly do: D }>) => object
} = {
  begin({ agents, first, ports, fingerprint, stateFile }) {
    const stateOf = openAgentStates(stateFile)
    edges = agents.map((agent, i) => ({
      ...agent,
      at: first + i,
      port: 0,
      stream: null,
      state: stateOf(agent.clientId),
      instanceId: newId(Date.now())
    }))
    for (const edge of edges) {
      edge.state.begin()
      void live(edge, ports, fingerprint)
    }
    return {}
  },
  where: () =>
    ({ ports: Object.fromEntries(edges.map(({ clientId, port }) => [clientId, port])) }) satisfies Where,
  arrivals: () => Object.fromEntries(arrivals) satisfies Arrivals,
  restart({ clientIds }) {
    restart(clientIds)
    return {}
  },
  count({ more }) {
    isCounting = more
    return {}
  },
  state: () =>
    ({
      pending: edges.reduce((sum, { state }) => sum + [...state.pending()].length, 0),
      counted: edges.flatMap(({ state }) => state.counted()),
      rules: edges.flatMap(({ state }) => [...state.rules.values()])
    }) satisfies FleetState
}

setInterval(() => {
  if (isCounting) for (const { state } of edges) state.count()
}, countMs)
await serveOrders(async (order: FleetOrder) => answers[order.do](order as never))
