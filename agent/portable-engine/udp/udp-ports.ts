import { networkInterfaces } from 'node:os'
import type { EngineRule } from '../../engine/engine.ts'
import { engineFault } from '../../engine/engine-fault.ts'
import { type Family, familyOf, isUnspecified } from '../../net/address.ts'
import type { EngineContext } from '../engine-context.ts'
import type { Descriptors } from '../net/descriptors.ts'
import { systemFault } from '../system-fault.ts'
import { bindSocket, type SocketAddress, type UdpSocket } from './udp-socket.ts'

const rescanMs = 5_000

/** `socket` received the datagram; replies use it. */
type OnDatagram = (port: number, bytes: Buffer, from: SocketAddress, socket: UdpSocket) => void

/** The ports of a rule. Another rule can take over some of them; `close` does not close those. */
export class UdpPorts {
  readonly #ports = new Map<number, UdpPort>()

  /**
   * Listens on every port of the range on every address of `bind`, or on none: throws an EngineFault. Takes over the ports
   * that `replaced` has, once all others listen.
   */
  async open(
    { from, to }: Pick<EngineRule, 'from' | 'to'>,
    { bind, descriptors }: EngineContext,
    onDatagram: OnDatagram,
    replaced: UdpPorts | null
  ): Promise<void> {
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
    const offered = replaced ? replaced.#ports : new Map<number, UdpPort>()
    const opened = new Map<number, UdpPort>()
    try {
      for (const number of numbers) {
        if (offered.has(number)) continue
        const port = new UdpPort(number, descriptors, onDatagram)
        opened.set(number, port)
        port.open(bind)
      }
    } catch (error) {
      await closeAll(opened)
      throw error
    }
    for (const number of numbers) {
      const port = offered.get(number) ?? opened.get(number)
      if (!port) throw new TypeError(`port ${number} is not open`)
      offered.delete(number)
      port.onDatagram = onDatagram
      this.#ports.set(number, port)
    }
  }

  has(number: number): boolean {
    return this.#ports.has(number)
  }

  /** Resolves when the last socket is closed. */
  close(): Promise<void> {
    return closeAll(this.#ports)
  }
}

const closeAll = async (ports: ReadonlyMap<number, UdpPort>): Promise<void> =>
  void (await Promise.all([...ports.values()].map(port => port.close())))

/**
 * The sockets of one port. A reply must come from the local address that the datagram was sent to, which Node does not
 * report. So every local address has a socket, and a reply uses the socket that received the datagram.
 */
class UdpPort {
  readonly #port: number
  readonly #descriptors: Descriptors
  onDatagram: OnDatagram
  readonly #sockets = new Map<string, UdpSocket>() // by local address
  readonly #closing = new Set<Promise<void>>()
  #scannedAt = Number.NEGATIVE_INFINITY

  constructor(port: number, descriptors: Descriptors, onDatagram: OnDatagram) {
    this.#port = port
    this.#descriptors = descriptors
    this.onDatagram = onDatagram
  }

  /** Binds all addresses. Throws an EngineFault when one fails; `UdpPorts.open` closes the others. */
  open(bind: readonly string[]): void {
    for (const address of new Set(bind))
      try {
        this.#openAddress(address)
      } catch (error) {
        if (address === '::' && hasNoIpv6(error)) continue
        throw systemFault(error, `${address} port ${this.#port}`)
      }
    if (this.#sockets.size === 0)
      throw engineFault('EINVAL', `port ${this.#port}: no address of ${bind.join(', ')} is usable`)
  }

  /** Resolves when the last socket is closed. */
  async close(): Promise<void> {
    for (const [address, socket] of this.#sockets) this.#closeSocket(address, socket)
    await Promise.all(this.#closing)
  }

  #openAddress(address: string): void {
    const isShared = isUnspecified(address) && canShare
    // An exclusive bind proves that no other process has the port: all sockets that share it are this engine's.
    if (isShared) void bindSocket({ address, port: this.#port }, 'exclusive', noHandlers).close()
    this.#openSocket(address, isShared ? 'shared' : 'exclusive')
    if (!isShared) return
    const failure = this.#openLocalAddresses(familyOf(address))
    if (failure !== undefined) throw failure
  }

  /** Returns the first error, if any. Skips addresses that are not ready: the wildcard socket receives for them. */
  #openLocalAddresses(family: Family): unknown {
    let failure: unknown
    for (const address of localAddresses(family).filter(address => !this.#sockets.has(address)))
      try {
        this.#openSocket(address, 'shared')
      } catch (error) {
        if (codeOf(error) !== 'EADDRNOTAVAIL') failure ??= error
      }
    return failure
  }

  #openSocket(address: string, sharing: 'exclusive' | 'shared'): void {
    const port = this.#port
    const isWildcard = isUnspecified(address) && sharing === 'shared'
    if (!this.#descriptors.reserve(1))
      throw engineFault('EMFILE', `port ${port}: not enough file descriptors are left`)
    try {
      const socket = bindSocket({ address, port }, sharing, {
        onMessage: (bytes, from) => {
          this.onDatagram(port, bytes, from, socket)
          if (isWildcard) this.#rescan(familyOf(address))
        },
        onError() {} // an earlier reply was lost: any caller can cause this
      })
      this.#sockets.set(address, socket)
    } catch (error) {
      this.#descriptors.release(1)
      throw error
    }
  }

  #closeSocket(address: string, socket: UdpSocket): void {
    this.#sockets.delete(address)
    const closing = socket.close().then(() => {
      this.#descriptors.release(1)
      this.#closing.delete(closing)
    })
    this.#closing.add(closing)
  }

  /** Opens and closes sockets as addresses come and go: the wildcard socket receives only for those without one. */
  #rescan(family: Family): void {
    if (performance.now() - this.#scannedAt < rescanMs) return
    this.#scannedAt = performance.now()
    const local = localAddresses(family)
    for (const [address, socket] of this.#sockets)
      if (familyOf(address) === family && !isUnspecified(address) && !local.includes(address))
        this.#closeSocket(address, socket)
    this.#openLocalAddresses(family)
  }
}

const noHandlers = { onMessage() {}, onError() {} }

/** On other systems the wildcard socket is the only one, and the system chooses the source address of replies. */
const canShare = process.platform === 'linux'

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '' // node:dgram throws nothing else
const hasNoIpv6 = (error: unknown) => ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(codeOf(error))

/** Returns the current addresses; a link-local one has its interface as zone. */
function localAddresses(family: Family): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all
      .filter(({ address }) => familyOf(address) === family)
      .map(({ address, scopeid = 0 }) => (scopeid === 0 ? address : `${address}%${name}`))
  )
}
