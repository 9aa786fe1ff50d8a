// Bounds the cost of connections to an HTTP server: one request at a time, and no wait for callers that do not read.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../../kernel/base/clock.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import { feedRequests } from './feed-requests.ts'

/** Options of every HTTP server. Frequent checks keep the timeouts from firing up to 30 s late. */
export const receiveLimits = {
  headersTimeout: 10_000,
  handshakeTimeout: 10_000, // of TLS
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000
}

const tickMs = 5_000
const stalledTicks = 6
const lastResponseMs = 5_000

interface Options {
  readonly server: Server
  readonly max: number
  readonly clock: Clock
  readonly handle: RequestListener
}

/**
 * Handles the requests of `server`, one at a time per connection; others that were sent ahead stay unread. At `max`
 * connections a new one evicts an idle one. Returns a function that closes connections: idle ones at once, others after
 * their response.
 */
export function boundConnections({ server, max, clock, handle }: Options): () => void {
  const open = new Set<Connection>() // the longest idle first
  const held = new Map<string, number>() // open connections by network, none with 0
  const bySocket = new WeakMap<Socket, Connection>()
  let isClosing = false

  function onIdle(connection: Connection): void {
    if (isClosing) connection.socket.end()
    open.delete(connection)
    open.add(connection)
  }

  function add(connection: Connection): void {
    const { network } = connection
    open.add(connection)
    held.set(network, (held.get(network) ?? 0) + 1)
  }

  function remove(connection: Connection): void {
    if (!open.delete(connection)) return
    const { network } = connection
    const left = (held.get(network) ?? 0) - 1
    if (left > 0) held.set(network, left)
    else held.delete(network)
  }

  server.on('connection', (socket: Socket) => {
    const connection = new Connection(socket, onIdle)
    if (open.size >= max) {
      const evicted = nextToClose(open, held, connection.network) ?? connection
      remove(evicted) // its socket emits 'close' later, after further connections of this iteration of the event loop
      evicted.socket.destroy()
    }
    if (socket.destroyed) return
    add(connection)
    bySocket.set(socket, connection)
    socket.once('close', () => remove(connection))
    feedRequests(socket, () => connection.newest)
  })
  server.on('secureConnection', (socket: Socket) => {
    const connection = open.values().find(({ socket: raw }) => isSame(raw, socket))
    if (!connection) return void socket.destroy() // already reset
    connection.socket = socket
    bySocket.set(socket, connection)
    feedRequests(socket, () => connection.newest)
  })
  server.on('request', (request, response) =>
    bySocket.get(request.socket)?.enter(request, response, () => handle(request, response))
  )
  // The caller would take an error now for the response to the previous request.
  server.on('clientError', (_error, socket) => {
    if (bySocket.get(socket as Socket)?.isResponding) socket.destroy()
  })
  server.once('listening', () => {
    const stop = clock.every(tickMs, () => {
      for (const connection of open) connection.tick()
    })
    server.once('close', stop)
  })

  return () => {
    isClosing = true
    for (const { isIdle, socket } of open) if (isIdle) socket.destroy()
    const cancel = clock.after(lastResponseMs, () => {
      for (const { socket } of open) socket.destroy()
    })
    server.once('close', cancel)
  }
}

const isSame = (one: Socket, other: Socket): boolean =>
  one.remotePort === other.remotePort &&
  one.remoteAddress === other.remoteAddress &&
  one.localAddress === other.localAddress

/**
 * Returns the connection to evict for a new one: an idle one of the network with the most connections or, if none is idle,
 * the oldest of that network. Returns undefined if the new one comes from that network.
 */
function nextToClose(
  open: ReadonlySet<Connection>,
  held: ReadonlyMap<string, number>,
  newcomer: string
): Connection | undefined {
  const heldWith = ({ network }: Connection): number => held.get(network) ?? 0
  let idle: Connection | undefined
  let busy: Connection | undefined
  for (const one of open)
    if (one.isIdle) {
      if (!idle || heldWith(one) > heldWith(idle)) idle = one
    } else if (!busy || heldWith(one) > heldWith(busy)) busy = one
  if (idle) return idle
  return busy?.network === newcomer ? undefined : busy
}

interface Turn {
  readonly request: IncomingMessage
  readonly work: () => void
}

class Connection {
  readonly network: string
  socket: Socket // the TLS socket once its handshake is done
  readonly #onIdle: (connection: Connection) => void
  readonly #turns: Turn[] = []
  #taken = 0
  #stalled = 0

  constructor(socket: Socket, onIdle: (connection: Connection) => void) {
    this.socket = socket
    this.network = networkOf(socket.remoteAddress ?? '')
    this.#onIdle = onIdle
  }

  get isIdle(): boolean {
    return this.#turns.length === 0
  }

  /** True if a complete request waits for its response. */
  get isResponding(): boolean {
    return this.#turns[0]?.request.complete ?? false
  }

  /** The newest request without its response. */
  get newest(): IncomingMessage | undefined {
    return this.#turns.at(-1)?.request
  }

  /** Runs `work`, which responds, once earlier responses are sent. */
  enter(request: IncomingMessage, response: ServerResponse, work: () => void): void {
    if (this.socket.destroyed) return
    this.#turns.push({ request, work })
    response.once('close', () => this.#next())
    if (this.#turns.length === 1) work()
  }

  #next(): void {
    this.#turns.shift()
    if (this.socket.destroyed) return
    const [turn] = this.#turns
    if (turn) {
      turn.work()
    } else {
      this.#onIdle(this)
      this.socket.resume()
    }
  }

  /** Cuts the connection if the caller reads nothing for 30 s while data waits. */
  tick(): void {
    const { bytesWritten, writableLength } = this.socket
    const taken = bytesWritten - writableLength
    this.#stalled = writableLength > 0 && taken === this.#taken ? this.#stalled + 1 : 0
    this.#taken = taken
    if (this.#stalled >= stalledTicks) this.socket.destroy()
  }
}
