// Callers and targets that speak in datagrams.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Test } from 'tap'
import type { Engine, EngineRule, EngineTarget } from '../../../agent/engine.ts'
import { ruleTo, until } from '../rig.ts'

/** A socket that keeps what it hears. */
export interface Talker {
  readonly socket: Socket
  readonly port: number
  readonly heard: Buffer[]
  say(words: string | Buffer): void
  /** Says something and gives the next answer. */
  ask(words: string | Buffer): Promise<string>
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

/** Talks to one address and hears nobody else: the kernel drops what comes from elsewhere. */
export async function talk(t: Test, port: number, host = '127.0.0.1', from?: string): Promise<Talker> {
  const { socket, port: own } = await open(t, from ?? (isIPv6(host) ? '::1' : '127.0.0.1'))
  const heard: Buffer[] = []
  socket.on('message', bytes => heard.push(bytes))
  socket.on('error', () => {}) // ECONNREFUSED, where a port is shut
  socket.connect(port, host)
  await once(socket, 'connect')
  return {
    socket,
    port: own,
    heard,
    say: words => socket.send(words),
    async ask(words) {
      const before = heard.length
      socket.send(words)
      await until(() => heard.length > before)
      return String(heard[before])
    },
    close: () => closeOnce(socket)
  }
}

export interface Heard {
  readonly bytes: Buffer
  readonly port: number // that it came from
}

export interface UdpTarget {
  readonly port: number
  readonly heard: Heard[]
  close(): void
}

/** Answers each datagram as `answer` says; null is silence. Default: says it again. */
export async function openUdpTarget(
  t: Test,
  answer: (bytes: Buffer) => Buffer | string | null = bytes => bytes,
  { host = '127.0.0.1', port: asked = 0 }: { host?: string; port?: number } = {}
): Promise<UdpTarget> {
  const { socket, port } = await open(t, host, asked)
  const heard: Heard[] = []
  socket.on('message', (bytes, from) => {
    heard.push({ bytes, port: from.port })
    const words = answer(bytes)
    if (words !== null) socket.send(words, from.port, from.address)
  })
  return { port, heard, close: () => closeOnce(socket) }
}

/** A UDP rule, opened. */
export async function openUdpRule(
  engine: Engine,
  targets: readonly (number | EngineTarget)[],
  changes: Partial<EngineRule> = {}
): Promise<EngineRule> {
  const rule = await ruleTo(targets, { protocol: 'udp', idleMs: 60_000, ...changes })
  await engine.open(rule)
  return rule
}
