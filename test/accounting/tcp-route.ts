// Both ends of every transfer, in this process. Records sent bytes, and arrived bytes with their time.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestFolder } from '../support/test-cluster.ts'

/** Bytes that arrived at `atMs`. Their connection or datagram started at `sinceMs`. */
export interface Arrival {
  readonly sinceMs: number
  readonly atMs: number
  readonly bytes: number
}

/** One direction of one rule. */
export interface Flow {
  sent: number
  readonly arrivals: Arrival[]
}

interface Flows {
  readonly in: Flow
  readonly out: Flow
}

/** Transfers through one listen port to a separate target. */
export interface Route extends Flows {
  readonly targetPort: number
  /** Resolves when both ends have all bytes, after which a connection is closed or reset. */
  transfer(port: number, bytes: { readonly in: number; readonly out: number }, ending: Ending): Promise<void>
  /** Sends in both directions until the agent ends or `stop` is called. */
  startTraffic(port: number): Promise<Traffic>
}

export type Ending = 'close' | 'reset'

export interface Traffic {
  /** Resolves when both ends are closed. */
  readonly ended: Promise<unknown>
  stop(): void
}

interface Connection {
  readonly caller: Socket
  readonly target: Socket
}

export const newFlow = (): Flow => ({ sent: 0, arrivals: [] })

export const arrivedBytes = (
  { arrivals }: Flow,
  matches: (arrival: Arrival) => boolean = () => true
): number => arrivals.reduce((sum, arrival) => (matches(arrival) ? sum + arrival.bytes : sum), 0)

const block = Buffer.alloc(16 * 1024, 7)
const intervalMs = 5
const maxBytesInFlight = 256 * 1024 // may be lost when the agent is killed

/** Callers first send `hello` (a TLS ClientHello or nothing), then the number of the connection. */
export async function openTcpRoute(t: TestFolder, hello: Buffer = Buffer.alloc(0)): Promise<Route> {
  const flows = { in: newFlow(), out: newFlow() }
  const target = await openTarget(t, flows.in, hello.length)
  let lastNumber = 0

  async function open(port: number): Promise<Connection> {
    const number = ++lastNumber
    const accepted = Promise.withResolvers<Socket>()
    target.awaited.set(number, accepted)
    const sinceMs = Date.now()
    const caller = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => caller.destroy())
    caller.on('data', chunk => recordArrival(flows.out, sinceMs, chunk))
    caller
      .on('error', cause => accepted.reject(cause))
      .on('close', () => accepted.reject(new Error('refused')))
    const head = Buffer.alloc(hello.length + 4)
    hello.copy(head)
    head.writeUInt32BE(number, hello.length)
    send(caller, flows.in, head)
    return { caller, target: await accepted.promise.finally(() => target.awaited.delete(number)) }
  }

  return {
    targetPort: target.port,
    ...flows,
    transfer: async (port, bytes, ending) => transfer(await open(port), flows, bytes, ending),
    startTraffic: async port => startTraffic(await open(port), flows)
  }
}

async function openTarget(t: TestFolder, flow: Flow, helloBytes: number) {
  const sockets = new Set<Socket>()
  const awaited = new Map<number, PromiseWithResolvers<Socket>>() // by the number of the connection
  const headBytes = helloBytes + 4
  const server = createServer({ allowHalfOpen: true }, socket => {
    const sinceMs = Date.now()
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    let head = Buffer.alloc(0)
    socket.on('data', chunk => {
      recordArrival(flow, sinceMs, chunk)
      if (head.length >= headBytes) return
      head = Buffer.concat([head, chunk])
      if (head.length >= headBytes) awaited.get(head.readUInt32BE(helloBytes))?.resolve(socket)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, awaited } // a TCP address
}

async function transfer(
  { caller, target }: Connection,
  flows: Flows,
  bytes: { readonly in: number; readonly out: number },
  ending: Ending
): Promise<void> {
  const ends = [caller, target].map(socket => once(socket, 'end'))
  const total = { in: target.bytesRead + bytes.in, out: caller.bytesRead + bytes.out }
  send(caller, flows.in, Buffer.alloc(bytes.in))
  send(target, flows.out, Buffer.alloc(bytes.out))
  if (ending === 'close') {
    caller.end()
    target.end()
    await Promise.all(ends)
  } else {
    await Promise.all([received(target, total.in), received(caller, total.out)])
    caller.resetAndDestroy()
  }
  for (const end of ends) end.catch(() => {})
}

function startTraffic({ caller, target }: Connection, flows: Flows): Traffic {
  const timer = setInterval(() => {
    if (caller.bytesWritten - target.bytesRead < maxBytesInFlight) send(caller, flows.in, block)
    if (target.bytesWritten - caller.bytesRead < maxBytesInFlight) send(target, flows.out, block)
  }, intervalMs)
  const ended = Promise.all([closed(caller), closed(target)]).then(() => clearInterval(timer))
  const stop = (): void => {
    clearInterval(timer)
    caller.end()
    target.end()
  }
  for (const socket of [caller, target]) socket.on('end', stop)
  return { ended, stop }
}

export const recordArrival = (flow: Flow, sinceMs: number, chunk: Buffer): void =>
  void flow.arrivals.push({ sinceMs, atMs: Date.now(), bytes: chunk.length })

function send(socket: Socket, flow: Flow, data: Buffer): void {
  if (socket.destroyed || socket.writableEnded) return
  flow.sent += data.length
  socket.write(data)
}

/** Resolves when the socket has read this number of bytes. */
const received = (socket: Socket, bytes: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const check = (): void => {
      if (socket.bytesRead >= bytes) resolve()
    }
    socket
      .on('data', check)
      .on('close', () => reject(new Error('the connection ended before all bytes arrived')))
    check()
  })

const closed = (socket: Socket): Promise<void> =>
  new Promise(resolve => (socket.destroyed ? resolve() : socket.once('close', () => resolve())))
