// All agents reconnect at once: 100 agents with 10 rules each, against a real server process.
//   node test/bench/reconnect.ts [--agents 100] [--rules 10]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
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
import { messages as enrollmentMessages, Redeem } from '../../plugins/enrollment/wire.ts'
import { RulePush, RuleRemove, messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { start } from '../support/process.ts'

const { values } = parseArgs({
  options: { agents: { type: 'string', default: '100' }, rules: { type: 'string', default: '10' } }
})
const [agents, rules] = [Number(values.agents), Number(values.rules)]

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

interface FleetMember {
  readonly clientId: string
  readonly token: string
  readonly localAddress: string
  readonly stock: Map<string, InventoryRow>
}

async function main(): Promise<void> {
  const started = await server.until('server.started')
  const [origin, port, fingerprint] = [
    String(started['origin']),
    Number(started['control_port']),
    String(started['server_cert_sha256'])
  ]
  const call = async <T>(path: string, body: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!reply.ok) throw new Error(await reply.text())
    return (await reply.json()) as T
  }
  const codec = openCodec([...wireMessages, ...controlMessages, ...enrollmentMessages])

  async function enroll(at: number): Promise<FleetMember> {
    const { uri } = await call<{ uri: string }>('/v1/client-enrollments', { name: `edge-${at}` })
    const code = new URL(uri).searchParams.get('code') ?? ''
    const localAddress = `127.0.${1 + (at >> 8)}.${1 + (at & 0xff)}`
    const { socket } = await dial({ port, fingerprint, localAddress })
    const { channel, end } = new Stream({ socket, codec, handlers: [], clock: systemClock, log: quiet })
    const secret = newSecret()
    const { client_id: clientId } = await channel.request(Redeem, { code, token_hash: hashOf(secret) })
    end('enrolled')
    return { clientId, token: secret, localAddress, stock: new Map() }
  }

  let generation = ''
  async function connect(one: FleetMember): Promise<ScriptedAgent> {
    const agent = await connectAgent(t, {
      port,
      fingerprint,
      token: one.token,
      localAddress: one.localAddress,
      generation,
      inventory: [...one.stock.values()],
      messages: ruleMessages,
      responses: [
        scriptedResponse(RulePush, ({ rule_id, revision }) => {
          one.stock.set(rule_id, { kind: 'rule', id: rule_id, revision })
          return { rule_id, revision }
        }),
        scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
      ]
    })
    generation = agent.welcome.generation
    return agent
  }

  const fleet: FleetMember[] = []
  for (let at = 0; at < agents; at++) fleet.push(await enroll(at))
  const first = await Promise.all(fleet.map(connect))
  for (const { clientId } of fleet)
    for (let at = 0; at < rules; at++)
      await call('/v1/rules', {
        client: clientId,
        listen_port: 20_000 + at,
        targets: [{ host: 'web.example.com', port: 80 }]
      })
  await Promise.all(first.map(agent => agent.close()))

  const pushed = (all: readonly ScriptedAgent[]): number =>
    all.reduce((sum, { received }) => sum + received.filter(({ name }) => name === RulePush.name).length, 0)

  let began = performance.now()
  const unchanged = await Promise.all(fleet.map(connect))
  const welcomedMs = performance.now() - began
  await new Promise(resolve => setTimeout(resolve, 3000)) // for late messages
  const bytes = unchanged.map(({ bytesReceived }) => bytesReceived())
  process.stdout.write(
    `unchanged: ${agents} agents welcomed after ${Math.round(welcomedMs)} ms, ${pushed(unchanged)} rules pushed, ` +
      `at most ${Math.max(...bytes)} bytes to one agent\n`
  )
  await Promise.all(unchanged.map(agent => agent.close()))

  for (const one of fleet) one.stock.clear()
  began = performance.now()
  const emptied = await Promise.all(fleet.map(connect))
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
