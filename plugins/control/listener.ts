// Lets streams in: TLS 1.3, this protocol and no other, and never more unknown ones than we can bear.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { Fault, listenFailed } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { alpn } from '../../kernel/wire/control.ts'
import type { Certificate } from './leaf.ts'

const authenticateMs = 10_000
const maxUnknown = 256
const maxUnknownOfAddress = 16

/** A stream that nobody has vouched for yet; it is cut when its time is over, or when newer ones need the room. */
export interface Entrant {
  readonly socket: TLSSocket
  readonly remoteAddr: string
  /** It has said who it is, and may stay. */
  admit(): void
}

interface Options extends Pick<Kernel, 'clock' | 'log'> {
  readonly listen: string
  readonly certificate: Certificate
  readonly enter: (entrant: Entrant) => void
}

export function openListener({ listen, certificate: { cert, key }, clock, log, enter }: Options) {
  const secureContext = createSecureContext({ cert, key, minVersion: 'TLSv1.3' })
  const sockets = new Set<Socket>()
  const unknown = new Map<Socket, string>() // to the address that it counts for, the oldest first

  const server = createServer(raw => {
    const remoteAddr = plain(raw.remoteAddress ?? '')
    const origin = networkOf(remoteAddr)
    makeRoom(origin)
    unknown.set(raw, origin)
    sockets.add(raw)
    const cancel = clock.after(authenticateMs, () => raw.destroy())
    const admit = (): void => {
      cancel()
      unknown.delete(raw)
    }
    const socket = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols: [alpn] })
    // What ends before its first frame says nothing: a scanner, a wrong pin, a health check.
    const drop = (): void => void raw.destroy()
    raw.on('error', drop)
    raw.on('close', () => {
      admit()
      sockets.delete(raw)
      socket.destroy()
    })
    socket.on('error', drop)
    socket.once('secure', () => {
      if (socket.alpnProtocol === alpn) enter({ socket, remoteAddr, admit })
      else drop()
    })
  })

  /** The newcomer is never refused: the oldest unknown one goes, of its own network first. */
  function makeRoom(origin: string): void {
    const neighbours = [...unknown].filter(([, other]) => other === origin)
    if (neighbours.length >= maxUnknownOfAddress) evict(neighbours[0]?.[0])
    else if (unknown.size >= maxUnknown) evict(unknown.keys().next().value)
  }

  function evict(socket: Socket | undefined): void {
    if (!socket) return
    unknown.delete(socket)
    socket.destroy()
  }

  async function start(): Promise<number> {
    try {
      const { hostname, port } = new URL(`tcp://${listen}`)
      if (port === '') throw new Error('give host:port')
      await listenOn(hostname.replace(/^\[|\]$/g, ''), Number(port))
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new Fault(listenFailed, `control_listen ${listen}: ${why}`, { cause })
    }
    server.on('error', error => log.warn('control.accept_failed', error.message))
    return (server.address() as AddressInfo).port // it listens on TCP
  }

  async function listenOn(host: string, port: number): Promise<void> {
    try {
      server.listen({ host, port })
      await once(server, 'listening')
    } catch (error) {
      const hasNoIpv6 = /EAFNOSUPPORT|EADDRNOTAVAIL/.test(String(error))
      if (host !== '::' || !hasNoIpv6) throw error
      await listenOn('0.0.0.0', port)
    }
  }

  async function close(): Promise<void> {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    await new Promise(resolve => setImmediate(resolve)) // last words go out
    for (const socket of sockets) socket.destroy()
    await closed
  }

  return { start, close }
}

/** An IPv4 address that came in through a dual-stack socket is one. */
const plain = (address: string): string =>
  ipaddr.isValid(address) ? ipaddr.process(address).toString() : address

/** What one host can have many of counts as one: of IPv6 its /64. */
export function networkOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  return ipaddr.IPv6.parse(address).parts.slice(0, 4).join(':')
}
