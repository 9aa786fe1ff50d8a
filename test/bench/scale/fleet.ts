// Agents, in a separate process. They connect at once, retry refused connections, and accept every message.
import { setTimeout } from 'node:timers/promises'
import { noCounts } from '../../../agent/wire/counters.ts'
import { encodeRow, StatsReport, messages as statsMessages } from '../../../agent/wire/journal-report.ts'
import { connectAgent, type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import { RulePush, RuleRemove, messages as ruleMessages } from '../../../plugins/rules/wire.ts'
import { SwitchRemove, SwitchSet, messages as switchMessages } from '../../../plugins/under-attack/wire.ts'
import { agentAddress } from './agent-address.ts'
import { serveOrders } from './processes.ts'
import type { SeededAgent } from './seed.ts'

export type FleetOrder =
  | { readonly do: 'agents'; readonly agents: readonly SeededAgent[]; readonly generation: string }
  | { readonly do: 'join'; readonly port: number; readonly fingerprint: string }
  | { readonly do: 'report'; readonly rounds: number; readonly everyMs: number }
  | { readonly do: 'switched' }
  | { readonly do: 'leave' }

export interface ReconnectResult {
  readonly ms: number // until all are connected
  readonly refused: number // handshakes
  readonly cpuMs: number // of this process
}
export interface Waits {
  readonly waits: readonly number[] // ms of each
}
/** The time at which each agent got the switch, in ms since 1970. */
export interface SwitchTimes {
  readonly at: readonly number[]
}

const firstDelayMs = 500
const maxDelayMs = 30_000
// As many capabilities as an agent with all built-in plugins announces.
const others = Array.from({ length: 20 }, (_, at) => [`capability-${at}`, '2.1.0'])
const capabilities = { ...Object.fromEntries(others), 'under-attack': '2.1.0' }
const messages = [...ruleMessages, ...statsMessages, ...switchMessages]
const t = { teardown() {} } // the process ends

let fleet: readonly SeededAgent[] = []
let generation = ''
let connected: ScriptedAgent[] = []
let switchedAt: number[] = []
let round = 0

const responses = [
  scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(SwitchSet, ({ id, revision }) => {
    switchedAt.push(Date.now())
    return { id, revision }
  }),
  scriptedResponse(SwitchRemove, ({ id, revision }) => ({ id, revision }))
]

async function join({ port, fingerprint }: { readonly port: number; readonly fingerprint: string }) {
  let refused = 0
  async function one({ token, rules }: SeededAgent, at: number): Promise<ScriptedAgent> {
    const inventory = rules.map(({ id, revision }) => ({ kind: 'rule', id, revision }))
    const script = { port, fingerprint, token, localAddress: agentAddress(at), messages, responses }
    for (let failures = 0; ; failures++)
      try {
        return await connectAgent(t, { ...script, capabilities, generation, inventory })
      } catch {
        refused++
        await setTimeout(Math.random() * Math.min(maxDelayMs, firstDelayMs * 2 ** failures))
      }
  }
  const began = performance.now()
  const before = process.cpuUsage()
  connected = await Promise.all(fleet.map(one))
  const { user, system } = process.cpuUsage(before)
  return { ms: performance.now() - began, refused, cpuMs: (user + system) / 1000 } satisfies ReconnectResult
}

/** Each agent reports new bytes of each of its rules, spread over each round. */
async function report({ rounds, everyMs }: { readonly rounds: number; readonly everyMs: number }) {
  const waits: number[] = []
  const began = performance.now()
  for (const last = round + rounds; round < last; round++) {
    const dueOf = (at: number): number => began + (round - last + rounds + at / fleet.length) * everyMs
    const sent: Promise<void>[] = []
    for (const at of fleet.keys()) {
      const dueMs = dueOf(at) - performance.now()
      if (dueMs > 1) await setTimeout(dueMs)
      sent.push(reportOf(at).then(ms => void waits.push(ms)))
    }
    await Promise.all(sent)
  }
  return { waits } satisfies Waits
}

async function reportOf(at: number): Promise<number> {
  const agent = connected[at]
  const edge = fleet[at]
  if (!agent || !edge) throw new RangeError(`there is no agent ${at}`)
  const began = performance.now()
  const minute = String(Math.floor(Date.now() / 60_000) * 60)
  const bytes = (round + 1) * 1_000_003
  const rows = edge.rules.slice(0, 5).flatMap(({ id: ruleId, port }) => {
    const moved = { ...noCounts, ruleId, bytesIn: bytes, bytesOut: bytes * 2 }
    return [
      { ...moved, kind: 'minute', key: minute },
      { ...noCounts, ruleId, kind: 'rule', key: '', connections: round + 1 },
      { ...moved, kind: 'port', key: String(port) }
    ].map(encodeRow)
  })
  const epoch = at.toString(16).padStart(32, '0')
  const body = { epoch, seq: round + 1, part: 0, last: true, live: [], rows }
  for (;;)
    try {
      await agent.channel.request(StatsReport, body, { deadlineMs: 60_000 })
      return performance.now() - began
    } catch (error) {
      if (agent.ended.aborted) throw error // otherwise repeats the report, like an agent
    }
}

await serveOrders(async (order: FleetOrder) => {
  if (order.do === 'agents') {
    fleet = order.agents
    generation = order.generation
    return {}
  }
  if (order.do === 'join') return join(order)
  if (order.do === 'report') return report(order)
  if (order.do === 'leave') {
    await Promise.all(connected.map(agent => agent.close()))
    connected = []
    return {}
  }
  const at = switchedAt
  switchedAt = []
  return { at } satisfies SwitchTimes
})
