// Both ends of forwarded traffic, over TCP and UDP: echo targets, and callers that count the bytes they get back.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export type Protocol = 'tcp' | 'udp'
export type TeardownScope = Pick<Test, 'teardown'>

export interface Target {
  readonly port: number
  /** Payload bytes received so far. */
  readonly received: () => number
  /** Stops listening; TCP: also closes its connections. */
  close(): void
}

export interface Caller {
  /** Payload bytes received so far. */
  readonly received: () => number
  /** UDP: number of unanswered datagrams. TCP: 1 if the connection closed before a byte came back, else 0. */
  readonly refused: () => number
  /** Sends `bytes` bytes, over UDP one datagram at a time. Resolves when all have come back. */
  echo(bytes: number): Promise<void>
  /** Sends `bytes` bytes at once, over UDP in datagrams of `datagramBytes`, without waiting for the echo. */
  send(bytes: number): void
  /** TCP: resolves when the connection has closed. UDP: never resolves. */
  readonly ended: Promise<void>
  close(): void
}

export const datagramBytes = 1000
const host = '127.0.0.1'

export const openTarget = (t: TeardownScope, protocol: Protocol, port: number): Promise<Target> =>
  protocol === 'tcp' ? openTcpTarget(t, port) : openUdpTarget(t, port)

async function openTcpTarget(t: TeardownScope, port: number): Promise<Target> {
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

async function openUdpTarget(t: TeardownScope, port: number): Promise<Target> {
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

/** Opens a caller. Over TCP it sends `hello` before the first payload, and the target echoes both. */
export const dial = (t: TeardownScope, protocol: Protocol, port: number, hello: Buffer): Caller =>
  protocol === 'tcp' ? dialTcp(t, port, hello) : dialUdp(t, port)

function dialTcp(t: TeardownScope, port: number, hello: Buffer): Caller {
  const socket = connect({ port, host })
  const closed = Promise.withResolvers<void>()
  const echo = openByteCounter()
  let sent = 0
  let isClosed = false
  socket.on('error', () => {}) // 'close' follows
  socket.on('data', chunk => echo.add(chunk.length))
  socket.on('close', () => {
    isClosed = true
    closed.resolve()
    echo.close()
  })
  t.teardown(() => socket.destroy())
  const send = (bytes: number) => {
    const payload = Buffer.concat([sent === 0 ? hello : Buffer.alloc(0), Buffer.alloc(bytes, 7)])
    sent += payload.length
    socket.write(payload)
  }
  return {
    received: echo.count,
    refused: () => (isClosed && sent > 0 && echo.count() === 0 ? 1 : 0),
    echo(bytes) {
      send(bytes)
      return echo.reached(sent)
    },
    send,
    ended: closed.promise,
    close: () => void socket.destroy()
  }
}

function dialUdp(t: TeardownScope, port: number): Caller {
  const socket = createSocket('udp4')
  const echo = openByteCounter()
  let sent = 0 // datagrams
  let answered = 0
  socket.on('message', message => {
    answered++
    echo.add(message.length)
  })
  t.teardown(() => void socket.close())
  const sendDatagram = (bytes: number) => {
    sent++
    socket.send(Buffer.alloc(bytes, 7), port, host)
  }
  return {
    received: echo.count,
    refused: () => sent - answered,
    async echo(bytes) {
      for (let left = bytes; left > 0; left -= datagramBytes) {
        const size = Math.min(left, datagramBytes)
        const echoed = echo.reached(echo.count() + size)
        sendDatagram(size)
        await echoed
      }
    },
    send(bytes) {
      for (let left = bytes; left > 0; left -= datagramBytes) sendDatagram(Math.min(left, datagramBytes))
    },
    ended: new Promise(() => {}),
    close() {}
  }
}

/** Counts received bytes. `reached` resolves at a given count, and rejects if the counter is closed first. */
function openByteCounter() {
  const waiting = new Map<() => void, () => boolean>()
  let count = 0
  let isClosed = false
  const notify = () => {
    for (const [settle, isReached] of waiting) if (isReached() || isClosed) settle()
  }
  return {
    count: () => count,
    add(bytes: number) {
      count += bytes
      notify()
    },
    close() {
      isClosed = true
      notify()
    },
    reached: (bytes: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const settle = () => {
          waiting.delete(settle)
          if (count >= bytes) resolve()
          else reject(new Error(`the connection closed after ${count} of ${bytes} bytes`))
        }
        waiting.set(settle, () => count >= bytes)
        notify()
      })
  }
}
