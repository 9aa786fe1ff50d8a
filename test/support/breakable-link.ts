// A TCP proxy between agents and their server that can be cut, or go silent without closing.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface BreakableLink {
  readonly port: number
  /** Resets all connections and refuses new ones until `heal`. */
  cut(): void
  /** Passes no byte in either direction until `heal`, without an error at either end. */
  silence(): void
  heal(): void
}

/** `to` is the server's port, or a function that returns the port for each connection. */
export async function breakableLink(
  t: Pick<Test, 'teardown'>,
  to: number | (() => number)
): Promise<BreakableLink> {
  const sockets = new Set<Socket>()
  let state: 'whole' | 'cut' | 'silent' = 'whole'
  const server = createServer(caller => {
    if (state === 'cut') return void caller.resetAndDestroy()
    const target = connect(typeof to === 'number' ? to : to(), '127.0.0.1')
    for (const [from, other] of [
      [caller, target],
      [target, caller]
    ] as const) {
      sockets.add(from)
      from
        .on('data', bytes => void other.write(bytes))
        .on('end', () => void other.end())
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          other.destroy()
        })
      if (state === 'silent') from.pause()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  t.teardown(() => {
    reset()
    server.close()
  })
  return {
    port: (server.address() as { readonly port: number }).port, // a TCP address
    cut() {
      state = 'cut'
      reset()
    },
    silence() {
      state = 'silent'
      for (const socket of sockets) socket.pause()
    },
    heal() {
      state = 'whole'
      for (const socket of sockets) socket.resume()
    }
  }
}
