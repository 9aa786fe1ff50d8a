// Accepts streams: TLS 1.3 and this protocol only, and a limited number of unauthenticated ones at once.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import type { Release } from '../../../kernel/base/releases.ts'
import { listenFault, parseListen } from '../../../kernel/platform/listen-fault.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { alpn } from '../../../kernel/wire/control.ts'
import type { Certificate } from '../../certificate/exports.ts'
import { HandshakeQueue, type Newcomer } from './handshake-queue.ts'
import { readClientHello } from './read-client-hello.ts'
import { returnWithinMs } from './return-time.ts'
import type { WorkBudget, WorkBudgets } from './work-budget.ts'

/** The wire format of ALPN. From a list of names, Node would retain a part of its 64 KiB buffer pool for each stream. */
const protocols = new DataView(Uint8Array.of(alpn.length, ...Buffer.from(alpn)).buffer)
const backlog = 4_096 // accepted by the system: a returning fleet connects within a second
const authenticateMs = 10_000
const waitMs = 30_000 // agents wait as long
const handshakeMs = 0.5 // charged

/** An unauthenticated stream. It is closed 10 s after its handshake starts, or after 3 s if others wait for its place. */
export interface IncomingStream {
  readonly socket: TLSSocket
  readonly remoteAddr: string
  readonly budget: WorkBudget // of its network
  /** Keeps the stream open: it is authenticated. */
  admit(): void
  /** Sets the function that ends the stream if it gives way to others. Its agent should return within `withinMs`. */
  refuseWith(refuse: (withinMs: number) => void): void
}

interface Options extends Pick<Kernel, 'clock' | 'log'> {
  readonly listen: string
  readonly certificate: Certificate
  readonly budgets: WorkBudgets
  readonly onStream: (stream: IncomingStream) => void
}

export class Listener {
  readonly #options: Options
  readonly #server: Server
  #certificate: Certificate
  #secureContext: ReturnType<typeof createSecureContext>
  readonly #sockets = new Set<Socket>()
  readonly #queue: HandshakeQueue
  #closed: Promise<unknown> | undefined

  constructor(options: Options) {
    this.#options = options
    this.#queue = new HandshakeQueue(options.clock)
    this.#certificate = options.certificate
    this.#secureContext = secureContextOf(options.certificate)
    this.#server = createServer(socket => this.#accept(socket))
  }

  get certificate(): Certificate {
    return this.#certificate
  }

  /** Shows this certificate from the next handshake on. */
  serve(certificate: Certificate): void {
    this.#certificate = certificate
    this.#secureContext = secureContextOf(certificate)
  }

  /** Returns the port in use. */
  async start(): Promise<number> {
    const { listen, log } = this.#options
    try {
      const { host, port } = parseListen(listen)
      await this.#listen(host, port)
    } catch (cause) {
      throw listenFault('control_listen', listen, cause)
    }
    this.#server.on('error', error => log.warn('control.accept_failed', error.message))
    return (this.#server.address() as AddressInfo).port // it listens on TCP
  }

  /** Stops accepting streams; existing ones stay. */
  stop(): void {
    if (this.#server.listening) this.#closed = once(this.#server, 'close')
    this.#server.close()
  }

  async close(): Promise<void> {
    this.stop()
    await new Promise(resolve => setImmediate(resolve)) // sends the last frames
    for (const socket of this.#sockets) socket.destroy()
    await this.#closed
  }

  async #listen(host: string, port: number): Promise<void> {
    try {
      this.#server.listen({ host, port, backlog })
      await once(this.#server, 'listening')
    } catch (error) {
      const hasNoIpv6 = /EAFNOSUPPORT|EADDRNOTAVAIL/.test(String(error))
      if (host !== '::' || !hasNoIpv6) throw error
      await this.#listen('0.0.0.0', port)
    }
  }

  #accept(raw: Socket): void {
    const { clock, budgets } = this.#options
    const remoteAddr = plainAddress(raw.remoteAddress ?? '')
    const network = networkOf(remoteAddr)
    const budget = budgets.of(`network ${network}`)
    const deadline = openDeadline(clock, () => raw.destroy())
    let refuse = (_withinMs: number): void => void raw.destroy()
    const refuseWith: IncomingStream['refuseWith'] = given => {
      refuse = given
    }
    const newcomer: Newcomer = {
      network,
      begin: () => {
        deadline.set(authenticateMs)
        budget.charge(handshakeMs)
        void budget.turn().then(() => {
          if (raw.destroyed) return
          putBack()
          this.#handshake(raw, { remoteAddr, budget, admit, refuseWith })
        })
      },
      drop: () => {
        refuse(returnWithinMs(this.#queue.size))
        admit()
      }
    }
    const admit = (): void => {
      deadline.cancel()
      this.#queue.leave(newcomer)
    }
    this.#sockets.add(raw)
    raw.on('error', () => raw.destroy())
    raw.on('close', () => {
      admit()
      this.#sockets.delete(raw)
    })
    deadline.set(authenticateMs)
    const putBack = readClientHello(raw, () => {
      deadline.set(waitMs)
      this.#queue.enter(newcomer)
    })
    this.#queue.arrive(newcomer)
  }

  #handshake(raw: Socket, stream: Omit<IncomingStream, 'socket'>): void {
    const secureContext = this.#secureContext
    const socket = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols: protocols })
    // Not logged: it may be a scanner, a wrong pin or a health check.
    const drop = (): void => void raw.destroy()
    raw.on('close', () => socket.destroy())
    socket.on('error', drop)
    socket.once('secure', () => {
      if (socket.alpnProtocol === alpn) this.#options.onStream({ ...stream, socket })
      else drop()
    })
  }
}

const secureContextOf = ({ cert, key }: Certificate) =>
  createSecureContext({ cert, key, minVersion: 'TLSv1.3' })

interface Deadline {
  set(ms: number): void
  cancel(): void
}

function openDeadline(clock: Kernel['clock'], passed: () => void): Deadline {
  const none: Release = () => {}
  let release = none
  const cancel = (): void => {
    void release()
    release = none // so that a connected agent does not retain the timer of its handshake
  }
  return {
    set(ms: number): void {
      cancel()
      release = clock.after(ms, passed)
    },
    cancel
  }
}

/** Returns an IPv4 address of a dual-stack socket without its IPv6 prefix. */
const plainAddress = (address: string): string =>
  ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
