// Listens for link connections on one port. It answers nobody before the pin was checked.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock } from '../../../../kernel/base/clock.ts'
import type { Log } from '../../../../kernel/base/log.ts'
import type { Release } from '../../../../kernel/base/releases.ts'
import { networkOf } from '../../../../kernel/platform/network.ts'
import { decodeHello, encodeReason, type Hello } from './frame-bodies.ts'
import { flag, frameType, ProtocolError } from './frames.ts'
import { HandshakePlaces, knownPeers, strangers } from './handshake-places.ts'
import { KnownAddresses } from './known-addresses.ts'
import { LinkConnection } from './link-connection.ts'
import { acceptTls, type LinkContext, peerPin, type SecureSocket } from './tls-settings.ts'
import { WrongPins } from './wrong-pins.ts'

const handshakeMs = 10_000
const retryMs = 5_000
const backlog = 1_024

interface Options {
  readonly port: number
  readonly bind: readonly string[]
  readonly context: () => LinkContext
  readonly hasPin: (pin: string) => boolean
  /** Takes a link connection with this pin, or returns the reason of a refusal. */
  readonly accept: (hello: Hello, pin: string, connection: LinkConnection) => string | null
  readonly wrongPin: (address: string, pin: string) => void
  readonly failed: (pin: string, error: ProtocolError) => void
  /** Called when `problem` changes. */
  readonly changed: () => void
  readonly clock: Clock
  readonly log: Log
}

export class LinkListener {
  readonly #options: Options
  readonly #servers: Server[] = []
  readonly #handshakes = new Set<Socket>()
  readonly #strangers = new HandshakePlaces(strangers)
  readonly #peers = new HandshakePlaces(knownPeers)
  readonly #known: KnownAddresses
  readonly #wrongPins: WrongPins
  #cancelRetry: Release = () => {}
  #isClosed = false
  /** Why the port is not open. */
  problem: 'port_in_use' | 'unreachable' | null = null

  constructor(options: Options) {
    this.#options = options
    this.#known = new KnownAddresses(options.clock)
    this.#wrongPins = new WrongPins(options.clock)
  }

  /** Opens the port at all addresses. If one cannot be opened, it is retried every 5 s. */
  async open(): Promise<void> {
    const { port, bind, clock, log, changed } = this.#options
    const problem = this.problem
    try {
      for (const host of bind.slice(this.#servers.length)) await this.#listen(host)
      this.problem = null
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException // listen() throws this type
      this.problem = code === 'EADDRINUSE' ? 'port_in_use' : 'unreachable'
      if (problem !== this.problem)
        log.warn('link.listen_failed', `port ${port} cannot be opened, retried every 5 s: ${String(error)}`)
      if (!this.#isClosed) this.#cancelRetry = clock.after(retryMs, () => void this.open())
    }
    if (this.#isClosed) this.#closeServers()
    else if (problem !== this.problem) changed()
  }

  /** Closes the port. Link connections stay. */
  close(): void {
    this.#isClosed = true
    void this.#cancelRetry()
    this.#closeServers()
    for (const raw of this.#handshakes) raw.destroy()
  }

  #closeServers(): void {
    for (const server of this.#servers.splice(0)) server.close()
  }

  async #listen(host: string): Promise<void> {
    const { port, log } = this.#options
    const server = createServer({ noDelay: true }, raw => this.#accept(raw))
    try {
      server.listen({ host, port, backlog, ipv6Only: host.includes(':') })
      await once(server, 'listening')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException // listen() throws this type
      const hasNoIpv6 = host === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')
      if (!hasNoIpv6) throw error
    }
    server.on('error', error => log.warn('link.accept_failed', error.message))
    this.#servers.push(server)
  }

  #accept(raw: Socket): void {
    const { clock, context } = this.#options
    const network = networkOf(raw.remoteAddress ?? '')
    const isKnown = this.#known.has(network)
    raw.on('error', () => raw.destroy())
    if (!this.#wrongPins.mayBegin(network, isKnown)) return void raw.destroy()
    const beganAt = clock.monotonic()
    const drop = (): void => void raw.destroy()
    const leave = (isKnown ? this.#peers : this.#strangers).enter(network, drop)
    const cancel = clock.after(handshakeMs, drop)
    const over = (): void => {
      void cancel()
      leave()
      this.#handshakes.delete(raw)
    }
    this.#handshakes.add(raw)
    raw.once('close', over)
    const socket = acceptTls(raw, context())
    socket.tls.on('error', drop) // not logged: it may be a scanner
    socket.tls.once('secure', () =>
      this.#secured(socket, { network, isKnown, ms: clock.monotonic() - beganAt, over })
    )
  }

  /** Checks the pin before a byte of the protocol is read. */
  #secured(
    socket: SecureSocket,
    { network, isKnown, ms, over }: { network: string; isKnown: boolean; ms: number; over: () => void }
  ): void {
    const { clock, hasPin, wrongPin, failed } = this.#options
    const address = socket.raw.remoteAddress ?? ''
    const pin = peerPin(socket)
    const isRight = pin !== '' && hasPin(pin)
    const connection = new LinkConnection(socket, {
      clock,
      handshakeMs: ms,
      role: 'listener',
      failed: error => failed(pin, error)
    })
    if (isRight) {
      connection.onClosed(this.#known.opened(network))
      this.#awaitHello(connection, pin, over)
      return
    }
    if (pin !== '') {
      this.#wrongPins.add(network, isKnown)
      wrongPin(address, pin)
      connection.send(frameType.refused, encodeReason('pin_mismatch'), flag.refusal)
    }
    connection.close()
  }

  #awaitHello(connection: LinkConnection, pin: string, over: () => void): void {
    connection.use({
      received: ({ type, flags, number, payload }) => {
        if (type !== frameType.hello || flags !== 0 || number !== 0)
          throw new ProtocolError(`frame type ${type} before HELLO`)
        const hello = decodeHello(payload)
        over()
        connection.use(null)
        const refusal = this.#options.accept(hello, pin, connection)
        if (refusal === null) return
        connection.send(frameType.refused, encodeReason(refusal), flag.refusal)
        connection.close()
      },
      closed: over
    })
  }
}
