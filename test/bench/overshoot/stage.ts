// A server, an agent for each way of forwarding, and targets that give and take without end.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { QuotaRow } from '../../../plugins/quota/schema.ts'
import { clientHello } from '../../engine/client-hellos.ts'
import { freePort } from '../../support/ports.ts'
import { type Edge, edge, type Ground, testCluster } from '../../support/test-cluster.ts'

/** How an agent forwards: its environment. */
export const ways = {
  'native, splice': {},
  'native, copying': { SVC_DISABLE_SPLICE: '1' },
  portable: { SVC_ENGINE: 'portable' }
} as const
export type Way = keyof typeof ways

export const kinds = ['plain', 'SNI', 'UDP'] as const
export type Kind = (typeof kinds)[number]

const name = 'shop.example.org'
export const datagramBytes = 1400
const block = Buffer.alloc(64 * 1024)

/** A rule of a user of its own, with a quota. */
export interface Place {
  readonly user: string
  readonly agent: Edge['agent']
  quota(method: 'PUT' | 'PATCH', body: object): Promise<QuotaRow>
  status(): Promise<QuotaRow>
  /** Bytes that the books have of the rule. */
  booked(): Promise<number>
  /** So many connections, or flows, at full speed; `received` is what has come through so far. */
  pour(count: number): Pour
}

export interface Pour {
  received(): number
  end(): void
}

export type Stage = Awaited<ReturnType<typeof openStage>>

export async function openStage(t: Ground, wanted: readonly Way[]) {
  const on = await testCluster(t)
  const { call } = on
  const [source, sink] = [await openSource(t), await openSink(t)]
  const hello = await clientHello({ servername: name })
  const edges = new Map<Way, Edge>()
  for (const way of wanted) {
    const at = await edge(t, on, way.replace(', ', '-'), { env: ways[way] })
    const { message, msg = message } = await at.agent.until('engine.selected')
    if (way !== 'portable' && !String(msg).includes('native')) console.log(`${way}: ${msg}`)
    edges.set(way, at)
  }

  async function place(way: Way, kind: Kind, user: string): Promise<Place> {
    const at = edges.get(way)
    if (!at) throw new TypeError(`${way} is not on this stage`)
    const { clientId, agent } = at
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
      async booked() {
        const stats = await call<{ bytes_in: number; bytes_out: number }>('GET', `/v1/rules/${rule_id}/stats`)
        return stats.bytes_in + stats.bytes_out
      },
      pour: count => (kind === 'UDP' ? flood(port, count, sink.received) : read(port, count, hello, kind))
    }
  }

  return { place }
}

/** Sends to whoever connects, for as long as it is taken. */
async function openSource(t: Ground): Promise<number> {
  const server = createServer(socket => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(block));
    }
    socket
      .on('drain', pour)
      .on('error', () => {})
      .resume()
    pour()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port // of a TCP listener
}

async function openSink(t: Ground) {
  let bytes = 0
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  socket.on('message', message => {
    bytes += message.length
  })
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { port: socket.address().port, received: () => bytes }
}

/** What the callers say counts too: it has been delivered where anything comes back. */
function read(port: number, count: number, hello: Buffer, kind: Kind): Pour {
  let bytes = 0
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1')
    let isFirst = true
    if (kind === 'SNI') socket.write(hello)
    socket.on('error', () => {}) // refused, or reset after its time
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

function flood(port: number, count: number, received: () => number): Pour {
  const before = received()
  const senders = Array.from({ length: count }, () => createSocket('udp4'))
  const datagram = Buffer.alloc(datagramBytes)
  let isOver = false
  const pour = (): void => {
    if (isOver) return
    for (const sender of senders)
      for (let i = 0; i < 32 / count; i++) sender.send(datagram, port, '127.0.0.1')
    setImmediate(pour)
  }
  pour()
  return {
    received: () => received() - before,
    end() {
      isOver = true
      for (const sender of senders) sender.close()
    }
  }
}
