// All agents reconnect at once to a real server process, by default 100 agents with 10 rules each.
//   node test/bench/reconnect.ts [--agents 100] [--rules 10]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messages as enrollmentMessages, Redeem } from '../../agent/wire/enrollment.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages } from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import {
  connectAgent,
  dial,
  type InventoryRow,
  type ScriptedAgent,
  scriptedResponse
} from '../../kit/scripted-agent.ts'
import { RulePush, RuleRemove, messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { start } from '../support/process.ts'
import { agentAddress } from './scale/agent-address.ts'

const { values } = parseArgs({
  options: { agents: { type: 'string', default: '100' }, rules: { type: 'string', default: '10' } }
})
const agents = Number(values.agents)
const rules = Number(values.rules)

const releases: (() => unknown)[] = []
const t = { teardown: (release: () => unknown) => void releases.push(release) }
const dir = mkdtempSync(join(import.meta.dirname, '.reconnect-'))
const token = newSecret()
const server = start(t, ['server', '--data-dir', dir], {
  SVC_OPERATOR_TOKEN: token,
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0',
  SVC_LOG_LEVEL: 'info'
})
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

const codec = openCodec([...wireMessages, ...controlMessages, ...enrollmentMessages])

interface ControlEndpoint {
  readonly port: number
  readonly fingerprint: string
}

interface FleetMember {
  readonly clientId: string
  readonly token: string
  readonly localAddress: string
  readonly inventory: Map<string, InventoryRow>
}

const operatorOf = (origin: string) => ({
  async post<T>(path: string, body: object): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!reply.ok) throw new Error(await reply.text())
    return (await reply.json()) as T
  }
})
type Operator = ReturnType<typeof operatorOf>

async function enroll(operator: Operator, endpoint: ControlEndpoint, at: number): Promise<FleetMember> {
  const { uri } = await operator.post<{ uri: string }>('/v1/client-enrollments', { name: `edge-${at}` })
  const code = new URL(uri).searchParams.get('code') ?? ''
  const localAddress = agentAddress(at)
  const { socket } = await dial({ ...endpoint, localAddress })
  const { channel, end } = new Stream({ socket, codec, handlers: [], clock: systemClock, log: quiet })
  const secret = newSecret()
  const { client_id: clientId } = await channel.request(Redeem, { code, token_hash: hashOf(secret) })
  end('enrolled')
  return { clientId, token: secret, localAddress, inventory: new Map() }
}

let generation = ''
let refused = 0 // handshakes

/** Connects like an agent: retries a refused connection with backoff. */
async function connect(endpoint: ControlEndpoint, member: FleetMember): Promise<ScriptedAgent> {
  for (let failures = 0; ; failures++)
    try {
      return await connectOnce(endpoint, member)
    } catch {
      refused++
      await new Promise(resolve => setTimeout(resolve, Math.random() * Math.min(30_000, 500 * 2 ** failures)))
    }
}

/** Connects an agent that stores received rules in the member's inventory. */
async function connectOnce(endpoint: ControlEndpoint, member: FleetMember): Promise<ScriptedAgent> {
  const { token, localAddress, inventory } = member
  const agent = await connectAgent(t, {
    ...endpoint,
    token,
    localAddress,
    generation,
    inventory: [...inventory.values()],
    messages: ruleMessages,
    responses: [
      scriptedResponse(RulePush, ({ rule_id, revision }) => {
        inventory.set(rule_id, { kind: 'rule', id: rule_id, revision })
        return { rule_id, revision }
      }),
      scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
    ]
  })
  generation = agent.welcome.generation
  return agent
}

const pushed = (all: readonly ScriptedAgent[]): number =>
  all.reduce((sum, { received }) => sum + received.filter(({ name }) => name === RulePush.name).length, 0)

async function main(): Promise<void> {
  const started = await server.until('server.started')
  const operator = operatorOf(String(started['origin']))
  const endpoint = {
    port: Number(started['control_port']),
    fingerprint: String(started['server_cert_sha256'])
  }
  const fleet: FleetMember[] = []
  for (let at = 0; at < agents; at++) fleet.push(await enroll(operator, endpoint, at))
  const connectAll = () => Promise.all(fleet.map(member => connect(endpoint, member)))
  const first = await connectAll()
  for (const { clientId } of fleet)
    for (let at = 0; at < rules; at++)
      await operator.post('/v1/rules', {
        client: clientId,
        listen_port: 20_000 + at,
        targets: [{ host: 'web.example.com', port: 80 }]
      })
  await Promise.all(first.map(agent => agent.close()))

  let began = performance.now()
  const unchanged = await connectAll()
  const welcomedMs = performance.now() - began
  await new Promise(resolve => setTimeout(resolve, 3000)) // for late messages
  const bytes = unchanged.map(({ bytesReceived }) => bytesReceived())
  process.stdout.write(
    `unchanged: ${agents} agents welcomed after ${Math.round(welcomedMs)} ms, ${refused} handshakes refused, ${pushed(unchanged)} rules pushed, ` +
      `at most ${Math.max(...bytes)} bytes to one agent\n`
  )
  await Promise.all(unchanged.map(agent => agent.close()))

  for (const { inventory } of fleet) inventory.clear()
  began = performance.now()
  const emptied = await connectAll()
  const reconnectedMs = performance.now() - began
  await Promise.all(emptied.map(agent => agent.until(RulePush.name, rules)))
  process.stdout.write(
    `state lost: welcomed after ${Math.round(reconnectedMs)} ms, ${pushed(emptied)} rules pushed ` +
      `${Math.round(performance.now() - began - reconnectedMs)} ms after that\n`
  )
}

try {
  await main()
} finally {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true })
}
