// A server, one agent for each engine mode, and targets that send and receive endlessly.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { QuotaRow } from '../../../plugins/quota/schema.ts'
import { clientHello } from '../../engine/client-hellos.ts'
import { freePort } from '../../support/ports.ts'
import { type RunningAgent, startAgent, type TestFolder, testCluster } from '../../support/test-cluster.ts'

/** The environment of the agent for each mode. */
export const engineModes = {
  'native, splice': {},
  'native, copying': { SVC_DISABLE_SPLICE: '1' },
  portable: { SVC_ENGINE: 'portable' }
} as const
export type EngineMode = keyof typeof engineModes

export const ruleKinds = ['plain', 'SNI', 'UDP'] as const
export type RuleKind = (typeof ruleKinds)[number]

const name = 'shop.example.org'
export const datagramBytes = 1400
const block = Buffer.alloc(64 * 1024)

/** A rule with a quota. Its user has no other rule. */
export interface QuotaRule {
  readonly user: string
  readonly agent: RunningAgent['agent']
  quota(method: 'PUT' | 'PATCH', body: object): Promise<QuotaRow>
  status(): Promise<QuotaRow>
  /** Bytes that the server has committed for the rule. */
  committedBytes(): Promise<number>
  /** Starts `count` connections or flows at full speed. */
  startLoad(count: number): Load
}

export interface Load {
  /** Bytes received so far. */
  received(): number
  end(): void
}

export type OvershootFixture = Awaited<ReturnType<typeof overshootFixture>>

export async function overshootFixture(t: TestFolder, wanted: readonly EngineMode[]) {
  const cluster = await testCluster(t)
  const { call } = cluster
  const source = await openSource(t)
  const sink = await openSink(t)
  const hello = await clientHello({ servername: name })
  const edges = new Map<EngineMode, RunningAgent>()
  for (const mode of wanted) {
    const edge = await startAgent(t, cluster, mode.replace(', ', '-'), { env: engineModes[mode] })
    const { message, msg = message } = await edge.agent.until('engine.selected')
    if (mode !== 'portable' && !String(msg).includes('native')) console.log(`${mode}: ${msg}`)
    edges.set(mode, edge)
  }

  async function openRule(mode: EngineMode, kind: RuleKind, user: string): Promise<QuotaRule> {
    const edge = edges.get(mode)
    if (!edge) throw new TypeError(`there is no agent in mode ${mode}`)
    const { clientId, agent } = edge
    const port = await freePort()
    await call('POST', '/v1/users', { user_id: user, display_name: user })
    const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', {
      client: clientId,
      owner: user,
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: kind === 'UDP' ? sink.port : source }],
      ...(kind === 'UDP' && { protocol: 'udp' }),
      ...(kind === 'SNI' && { sni_pattern: name })
    })
    const path = `/v1/users/${user}/quotas/${clientId}`
    return {
      user,
      agent,
      quota: (method, body) => call(method, path, body),
      status: () => call('GET', `${path}/status`),
      async committedBytes() {
        const stats = await call<{ bytes_in: number; bytes_out: number }>('GET', `/v1/rules/${rule_id}/stats`)
        return stats.bytes_in + stats.bytes_out
      },
      startLoad: count =>
        kind === 'UDP' ? flood(port, count, sink.received) : read(port, count, hello, kind)
    }
  }

  return { openRule }
}

/** Opens a TCP target that sends to every caller as fast as the caller reads. Returns its port. */
async function openSource(t: TestFolder): Promise<number> {
  const server = createServer(socket => {
    const send = (): void => {
      while (!socket.destroyed && socket.write(block));
    }
    socket
      .on('drain', send)
      .on('error', () => {})
      .resume()
    send()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port // a TCP address
}

/** Opens a UDP target that counts the bytes received. */
async function openSink(t: TestFolder) {
  let bytes = 0
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  socket.on('message', message => {
    bytes += message.length
  })
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { port: socket.address().port, received: () => bytes }
}

/** Opens connections that read at full speed. Also counts the ClientHello, which is delivered once a byte comes back. */
function read(port: number, count: number, hello: Buffer, kind: RuleKind): Load {
  let bytes = 0
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1')
    let isFirst = true
    if (kind === 'SNI') socket.write(hello)
    socket.on('error', () => {}) // refused, or reset after the hold time
    return socket.on('data', chunk => {
      if (isFirst && kind === 'SNI') bytes += hello.length
      isFirst = false
      bytes += chunk.length
    })
  })
  return {
    received: () => bytes,
    end() {
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** Sends datagrams at full speed. */
function flood(port: number, count: number, received: () => number): Load {
  const before = received()
  const senders = Array.from({ length: count }, () => createSocket('udp4'))
  const datagram = Buffer.alloc(datagramBytes)
  let hasEnded = false
  const send = (): void => {
    if (hasEnded) return
    for (const sender of senders)
      for (let i = 0; i < 32 / count; i++) sender.send(datagram, port, '127.0.0.1')
    setImmediate(send)
  }
  send()
  return {
    received: () => received() - before,
    end() {
      hasEnded = true
      for (const sender of senders) sender.close()
    }
  }
}
