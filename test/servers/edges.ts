// Agents that report everything that is stored to a paused server, and then answer its earlier requests.
import { setTimeout as pause } from 'node:timers/promises'
import { noCounts } from '../../agent/wire/counters.ts'
import { encodeRow, StatsReport, messages as statsMessages } from '../../agent/wire/journal-report.ts'
import { NextPin, messages as pinMessages } from '../../agent/wire/next-pin.ts'
import { newId } from '../../kernel/platform/id.ts'
import {
  connectAgent,
  type Reaction,
  type ScriptedAgent,
  scriptedResponse
} from '../../kit/scripted-agent.ts'
import { Report as BanReport, messages as banMessages, capability as bans } from '../../plugins/bans/wire.ts'
import { Report as JournalReport, messages as journalMessages } from '../../plugins/journal/wire.ts'
import { RulePush, RuleRemove, messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { decide, ruleIdOf } from './changes.ts'
import { type Agent, ruleOf, type Server, type ServerPlace, type Teardown } from './server-place.ts'

export interface Edge extends Agent {
  readonly ruleId: string
  readonly old: ScriptedAgent // at the paused server
  /** Sends all reports. Nobody answers. */
  send(): void
}

const messages = [...ruleMessages, ...statsMessages, ...journalMessages, ...banMessages, ...pinMessages]
const script = { messages, capabilities: { [bans.id]: bans.since } }
const responses = [
  scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(NextPin, body => body)
]
const port = 8_000
const patienceMs = 60_000
const restMs = 1_000

const sent: readonly ((agent: ScriptedAgent, ruleId: string) => Promise<unknown>)[] = [
  ({ channel }, ruleId) => channel.request(StatsReport, statsOf(ruleId, 1_000_000_000)),
  ({ channel }, ruleId) => channel.request(JournalReport, { entries: [entryOf(ruleId)] }),
  ({ channel }, ruleId) => channel.request(BanReport, { bans: [banOf(ruleId)] }),
  async (agent, id) =>
    agent.sendStatus({ kind: 'rule', id, revision: 1, code: 'port_in_use', message: 'by another' }),
  async agent => agent.sendRemoved({ kind: 'rule', id: newId(Date.now()), revision: 1 })
]

/** Retries like agents do: many connect at once, and a busy server makes some wait. */
export async function connect(
  t: Teardown,
  { controlPort, fingerprint }: Server,
  { token }: Agent,
  react: (name: string) => Reaction = () => 'accept'
): Promise<ScriptedAgent> {
  const began = performance.now()
  for (;;) {
    try {
      return await connectAgent(t, {
        ...script,
        port: controlPort,
        fingerprint: fingerprint(),
        token,
        instanceId: token,
        responses,
        react: ({ name }) => react(name)
      })
    } catch (error) {
      if (performance.now() - began > patienceMs) throw error
      await pause(Math.random() * restMs)
    }
  }
}

/** Makes an agent with a rule that has answered all requests of the server. */
export async function edgeAt(place: ServerPlace, server: Server, agent: Agent): Promise<Edge> {
  const old = await connect(place, server, agent)
  const made = { method: 'POST', path: '/v1/rules', body: ruleOf(agent.clientId, port) }
  const reply = await decide([server], made) // changes of many agents conflict
  const ruleId = ruleIdOf(reply)
  if (ruleId === null) throw new Error(`no rule: ${JSON.stringify(reply)}`)
  return {
    ...agent,
    old,
    ruleId,
    send() {
      for (const one of sent) one(old, ruleId).catch(() => {}) // its stream ends
    }
  }
}

/** Sets the next certificate of the servers, which ask agents about it after their next start. */
export const stageCertificate = ({ query }: ServerPlace) =>
  query(`insert into kernel_store_value (name, value) values ('next_leaf', repeat('ab', 32))`)

/** Makes an agent that was asked for its next certificate, and answers when it sends. */
export async function askedAt(
  place: ServerPlace,
  server: Server,
  agent: Agent
): Promise<Omit<Edge, 'ruleId'>> {
  const { promise: sending, resolve: send } = Promise.withResolvers<void>()
  const old = await connect(place, server, agent, name => (name === NextPin.name ? sending : 'accept'))
  await old.until(NextPin.name)
  return { ...agent, old, send }
}

export const statsOf = (ruleId: string, bytesIn: number) => ({
  epoch: 'a'.repeat(32),
  seq: bytesIn,
  part: 0,
  last: true,
  live: [],
  rows: [encodeRow({ ...noCounts, ruleId, kind: 'port', key: String(port), bytesIn })]
})

const entryOf = (ruleId: string) => ({
  id: newId(Date.now()),
  rule_id: ruleId,
  at_ms: Date.now(),
  kind: 'failover' as const,
  from: 'one',
  to: 'other',
  cause: 'dial_failed',
  target: ''
})

const banOf = (ruleId: string) => ({
  id: newId(Date.now()),
  source: '192.0.2.1',
  rule_id: ruleId,
  cause: 'new_connections' as const,
  from_ms: Date.now(),
  until_ms: Date.now() + 60_000,
  times: 1,
  live: 'keep' as const
})
