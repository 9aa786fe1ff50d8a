// Both ends of what is forwarded, over TCP and UDP alike: targets that say everything again, callers that count it.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export type Protocol = 'tcp' | 'udp'
export type Teardown = Pick<Test, 'teardown'>

export interface Target {
  readonly port: number
  /** Payload bytes that came. */
  readonly received: () => number
  /** Nobody is there any more. */
  close(): void
}

export interface Caller {
  readonly heard: () => number
  /** Of UDP: datagrams that went out and were not answered. Of TCP: 1 when it was reset before it heard anything. */
  readonly refused: () => number
  /** Says so many bytes, over UDP in one datagram after the other; settles when all have come back. */
  say(bytes: number): Promise<void>
  /** Says them all at once, over UDP in datagrams of `datagramBytes`, and waits for nothing. */
  flood(bytes: number): void
  /** TCP: the connection is over. */
  readonly ended: Promise<void>
  close(): void
}

export const datagramBytes = 1000
const host = '127.0.0.1'

export const openTarget = (t: Teardown, protocol: Protocol, port: number): Promise<Target> =>
  protocol === 'tcp' ? openTcpTarget(t, port) : openUdpTarget(t, port)

async function openTcpTarget(t: Teardown, port: number): Promise<Target> {
  let received = 0
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {}) // a caller may be reset
    socket.on('data', chunk => {
      received += chunk.length
    })
    socket.pipe(socket)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  t.teardown(close)
  return { port, received: () => received, close }
}

async function openUdpTarget(t: Teardown, port: number): Promise<Target> {
  let received = 0
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    received += message.length
    socket.send(message, from.port, from.address)
  })
  socket.bind(port, host)
  await once(socket, 'listening')
  let isOpen = true
  const close = () => {
    if (isOpen) socket.close()
    isOpen = false
  }
  t.teardown(close)
  return { port, received: () => received, close }
}

/** `hello` goes ahead of the first words, and is said again like them. */
export const dial = (t: Teardown, protocol: Protocol, port: number, hello: Buffer): Caller =>
  protocol === 'tcp' ? dialTcp(t, port, hello) : dialUdp(t, port)

function dialTcp(t: Teardown, port: number, hello: Buffer): Caller {
  const socket = connect({ port, host })
  const over = Promise.withResolvers<void>()
  const echo = openEar()
  let sent = 0
  let isOver = false
  socket.on('error', () => {}) // 'close' follows
  socket.on('data', chunk => echo.hear(chunk.length))
  socket.on('close', () => {
    isOver = true
    over.resolve()
    echo.deafen()
  })
  t.teardown(() => socket.destroy())
  const flood = (bytes: number) => {
    const words = Buffer.concat([sent === 0 ? hello : Buffer.alloc(0), Buffer.alloc(bytes, 7)])
    sent += words.length
    socket.write(words)
  }
  return {
    heard: echo.heard,
    refused: () => (isOver && sent > 0 && echo.heard() === 0 ? 1 : 0),
    say(bytes) {
      flood(bytes)
      return echo.reached(sent)
    },
    flood,
    ended: over.promise,
    close: () => void socket.destroy()
  }
}

function dialUdp(t: Teardown, port: number): Caller {
  const socket = createSocket('udp4')
  const echo = openEar()
  let [sent, answered] = [0, 0] // datagrams
  socket.on('message', message => {
    answered++
    echo.hear(message.length)
  })
  t.teardown(() => void socket.close())
  const send = (bytes: number) => {
    sent++
    socket.send(Buffer.alloc(bytes, 7), port, host)
  }
  return {
    heard: echo.heard,
    refused: () => sent - answered,
    async say(bytes) {
      for (let left = bytes; left > 0; left -= datagramBytes) {
        const size = Math.min(left, datagramBytes)
        const echoed = echo.reached(echo.heard() + size)
        send(size)
        await echoed
      }
    },
    flood(bytes) {
      for (let left = bytes; left > 0; left -= datagramBytes) send(Math.min(left, datagramBytes))
    },
    ended: new Promise(() => {}),
    close() {}
  }
}

/** Counts what comes, for whoever waits until enough has. */
function openEar() {
  const waiting = new Map<() => void, () => boolean>()
  let heard = 0
  let isDeaf = false
  const look = () => {
    for (const [settle, isSo] of waiting) if (isSo() || isDeaf) settle()
  }
  return {
    heard: () => heard,
    hear(bytes: number) {
      heard += bytes
      look()
    },
    deafen() {
      isDeaf = true
      look()
    },
    reached: (bytes: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const settle = () => {
          waiting.delete(settle)
          if (heard >= bytes) resolve()
          else reject(new Error(`it ended after ${heard} of ${bytes} bytes`))
        }
        waiting.set(settle, () => heard >= bytes)
        look()
      })
  }
}
