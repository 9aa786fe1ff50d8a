// UDP callers, targets and rules for the cases.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Test } from 'tap'
import type { Engine, EngineRule, EngineTarget } from '../../../agent/engine/engine.ts'
import { ruleTo, until } from '../engine-fixture.ts'

export interface UdpCaller {
  readonly socket: Socket
  readonly port: number
  readonly received: Buffer[]
  send(bytes: string | Buffer): void
  /** Sends a datagram and returns the next answer. */
  exchange(bytes: string | Buffer): Promise<string>
  close(): void
}

async function open(t: Test, host: string, port = 0): Promise<{ socket: Socket; port: number }> {
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: 4 * 1024 * 1024 })
  socket.bind(port, host)
  await once(socket, 'listening')
  t.teardown(() => void closeOnce(socket))
  return { socket, port: socket.address().port }
}

const closed = new WeakSet<Socket>()
function closeOnce(socket: Socket): void {
  if (!closed.has(socket)) socket.close()
  closed.add(socket)
}

/** Opens a connected socket that records what it receives. The kernel drops datagrams from other addresses. */
export async function openUdpCaller(
  t: Test,
  port: number,
  host = '127.0.0.1',
  from?: string
): Promise<UdpCaller> {
  const { socket, port: own } = await open(t, from ?? (isIPv6(host) ? '::1' : '127.0.0.1'))
  const received: Buffer[] = []
  socket.on('message', bytes => received.push(bytes))
  socket.on('error', () => {}) // ECONNREFUSED from a closed port
  socket.connect(port, host)
  await once(socket, 'connect')
  return {
    socket,
    port: own,
    received,
    send: bytes => socket.send(bytes),
    async exchange(bytes) {
      const before = received.length
      socket.send(bytes)
      await until(() => received.length > before)
      return String(received[before])
    },
    close: () => closeOnce(socket)
  }
}

export interface ReceivedDatagram {
  readonly bytes: Buffer
  readonly port: number // of the sender
}

export interface UdpTarget {
  readonly port: number
  readonly received: ReceivedDatagram[]
  close(): void
}

/** Opens a socket that answers each datagram with the result of `answer`; null: no answer. Default: an echo. */
export async function openUdpTarget(
  t: Test,
  answer: (bytes: Buffer) => Buffer | string | null = bytes => bytes,
  { host = '127.0.0.1', port: asked = 0 }: { host?: string; port?: number } = {}
): Promise<UdpTarget> {
  const { socket, port } = await open(t, host, asked)
  const received: ReceivedDatagram[] = []
  socket.on('message', (bytes, from) => {
    received.push({ bytes, port: from.port })
    const reply = answer(bytes)
    if (reply !== null) socket.send(reply, from.port, from.address)
  })
  return { port, received, close: () => closeOnce(socket) }
}

export async function openUdpRule(
  engine: Engine,
  targets: readonly (number | EngineTarget)[],
  changes: Partial<EngineRule> = {}
): Promise<EngineRule> {
  const rule = await ruleTo(targets, { protocol: 'udp', idleMs: 60_000, ...changes })
  await engine.open(rule)
  return rule
}
