// A busy connection through a rule to an echo server. Each echoed number triggers the next one.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Test } from 'tap'

/** Starts an echo server. Returns its port. */
export async function startEchoServer(t: Pick<Test, 'teardown'>): Promise<number> {
  const server = createServer(socket => socket.pipe(socket).on('error', () => socket.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => void server.close())
  return (server.address() as { readonly port: number }).port
}

export interface LiveStream {
  /** Resolves when `count` more numbers are echoed; rejects when the connection breaks. */
  advance(count?: number): Promise<void>
  /** Ends the connection. Resolves with the count of numbers echoed in order. */
  end(): Promise<number>
}

export async function openLiveStream(t: Pick<Test, 'teardown'>, port: number): Promise<LiveStream> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => void socket.destroy())
  await once(socket, 'connect')
  const returned = new EventTarget()
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const broken = closed.then(() => Promise.reject(new Error('the connection broke')))
  broken.catch(() => {}) // the waiting call gets the error
  let last = 0
  let rest = ''
  const send = (): void => void socket.write(`${last + 1}\n`)
  socket.on('error', () => {}) // `close` follows
  socket.on('data', bytes => {
    rest += bytes
    if (!rest.endsWith('\n')) return
    if (rest !== `${last + 1}\n`) socket.destroy(new Error(`sent ${last + 1}, but ${rest} came back`))
    rest = ''
    last += 1
    returned.dispatchEvent(new Event('number'))
    send()
  })
  send()

  return {
    async advance(count = 100) {
      for (const end = last + count; last < end; ) await Promise.race([once(returned, 'number'), broken])
    },
    async end() {
      socket.destroy()
      await closed
      return last
    }
  }
}
