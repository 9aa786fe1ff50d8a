// Both ends of every transfer, in this process: records what was sent, and what arrived and when.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestFolder } from '../support/test-cluster.ts'

/** Bytes that arrived at `atMs`, on a connection or datagram begun at `sinceMs`. */
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

/** Transfers through one listen port to a target of its own. */
export interface Route {
  readonly target: number
  readonly in: Flow
  readonly out: Flow
  /** Resolves when both ends have all bytes. A connection is then closed or reset. */
  transfer(port: number, bytes: { readonly in: number; readonly out: number }, end: End): Promise<void>
  /** Sends in both directions until the agent ends or `stop`; `over` resolves when both ends are closed. */
  pour(port: number): Promise<{ readonly over: Promise<void>; stop(): void }>
}

export type End = 'close' | 'reset'

export const newFlow = (): Flow => ({ sent: 0, arrivals: [] })

export const arrivedBytes = (
  { arrivals }: Flow,
  matches: (arrival: Arrival) => boolean = () => true
): number => arrivals.reduce((sum, arrival) => (matches(arrival) ? sum + arrival.bytes : sum), 0)

const block = Buffer.alloc(16 * 1024, 7)
const pieceMs = 5
const maxUnderWay = 256 * 1024 // under way: bytes that may be lost when the agent is killed

/** Callers send `hello` first: a TLS ClientHello, or nothing. */
export async function openRoute(t: TestFolder, hello: Buffer = Buffer.alloc(0)): Promise<Route> {
  const flows = { in: newFlow(), out: newFlow() }
  const fars = new Set<Socket>()
  const arrivals = new Map<number, PromiseWithResolvers<Socket>>() // by the number that follows the hello
  const headBytes = hello.length + 4
  let lastNumber = 0

  const server = createServer({ allowHalfOpen: true }, far => {
    const sinceMs = Date.now()
    fars.add(far)
    far.on('error', () => {}).on('close', () => fars.delete(far))
    let head = Buffer.alloc(0)
    far.on('data', chunk => {
      note(flows.in, sinceMs, chunk)
      if (head.length >= headBytes) return
      head = Buffer.concat([head, chunk])
      if (head.length >= headBytes) arrivals.get(head.readUInt32BE(hello.length))?.resolve(far)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const far of fars) far.destroy()
  })

  /** A connection, known at both ends. */
  async function open(port: number): Promise<{ near: Socket; far: Socket }> {
    const number = ++lastNumber
    const arrival = Promise.withResolvers<Socket>()
    arrivals.set(number, arrival)
    const sinceMs = Date.now()
    const near = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => near.destroy())
    near.on('data', chunk => note(flows.out, sinceMs, chunk))
    near.on('error', cause => arrival.reject(cause)).on('close', () => arrival.reject(new Error('refused')))
    const head = Buffer.alloc(headBytes)
    hello.copy(head)
    head.writeUInt32BE(number, hello.length)
    send(near, flows.in, head)
    const far = await arrival.promise.finally(() => arrivals.delete(number))
    return { near, far }
  }

  return {
    target: (server.address() as AddressInfo).port, // of a TCP listener
    ...flows,
    async transfer(port, bytes, end) {
      const { near, far } = await open(port)
      const [nearEnds, farEnds] = [near, far].map(socket => once(socket, 'end'))
      const came = { in: far.bytesRead + bytes.in, out: near.bytesRead + bytes.out }
      send(near, flows.in, Buffer.alloc(bytes.in))
      send(far, flows.out, Buffer.alloc(bytes.out))
      if (end === 'close') {
        near.end()
        far.end()
        await Promise.all([nearEnds, farEnds])
      } else {
        await Promise.all([reached(far, came.in), reached(near, came.out)])
        near.resetAndDestroy()
      }
      nearEnds?.catch(() => {})
      farEnds?.catch(() => {})
    },
    async pour(port) {
      const { near, far } = await open(port)
      const timer = setInterval(() => {
        if (near.bytesWritten - far.bytesRead < maxUnderWay) send(near, flows.in, block)
        if (far.bytesWritten - near.bytesRead < maxUnderWay) send(far, flows.out, block)
      }, pieceMs)
      const over = Promise.all([closed(near), closed(far)]).then(() => clearInterval(timer))
      const stop = (): void => {
        clearInterval(timer)
        near.end()
        far.end()
      }
      for (const socket of [near, far]) socket.on('end', stop)
      return { over, stop }
    }
  }
}

export const note = (flow: Flow, sinceMs: number, chunk: Buffer): void =>
  void flow.arrivals.push({ sinceMs, atMs: Date.now(), bytes: chunk.length })

function send(socket: Socket, flow: Flow, data: Buffer): void {
  if (socket.destroyed || socket.writableEnded) return
  flow.sent += data.length
  socket.write(data)
}

const reached = (socket: Socket, bytes: number): Promise<void> =>
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
