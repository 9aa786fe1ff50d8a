// Datagram sockets that bind within the call, never resolve names, and never queue without limit.
import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { once } from 'node:events'
import { familyOf } from '../../net/address.ts'

/** Datagrams that the kernel does not accept are queued, up to this size. More are dropped. */
const maxQueuedBytes = 1024 * 1024
/** Bursts wait in the kernel while this thread is busy. */
const receiveBufferBytes = 4 * 1024 * 1024

/** An address in the notation of the system, with its zone. */
export type SocketAddress = Pick<RemoteInfo, 'address' | 'port'>

export interface SocketHandlers {
  onMessage(bytes: Buffer, from: RemoteInfo): void
  /** Called when an earlier datagram of a connected socket was lost. */
  onError(errno: string): void
}

/** Throws the system's error. `shared`: other sockets of this user can bind the port, too. */
export function bindSocket(
  { address, port }: SocketAddress,
  sharing: 'exclusive' | 'shared',
  handlers: SocketHandlers
): UdpSocket {
  const socket = open(address, { reusePort: sharing === 'shared', ipv6Only: familyOf(address) === 'ipv6' })
  try {
    bindNow(socket, { address, port })
    return new UdpSocket(socket, { address, port }, null, handlers)
  } catch (error) {
    socket.close()
    throw error
  }
}

function bindNow(socket: Socket, { address, port }: SocketAddress): void {
  const failures: Error[] = []
  const onError = (error: Error) => failures.push(error)
  socket.on('error', onError)
  socket.bind({ address, port, exclusive: true }) // synchronous, since there is no name to resolve
  socket.off('error', onError)
  const [failure] = failures
  if (failure) throw failure
}

/** Rejects with the system's error if there is no route or no such local address. `from` null: the system chooses. */
export async function connectSocket(
  { address, port }: SocketAddress,
  from: string | null,
  handlers: SocketHandlers
): Promise<UdpSocket> {
  const socket = open(address)
  try {
    if (from !== null) bindNow(socket, { address: from, port: 0 })
    socket.connect(port, address)
    await once(socket, 'connect')
    if (isSame(socket.address(), socket.remoteAddress())) throw selfConnected()
    return new UdpSocket(socket, unbound, socket.remoteAddress(), handlers)
  } catch (error) {
    socket.close()
    throw error
  }
}

const unbound: SocketAddress = { address: '', port: 0 } // a socket that connects is bound by the system

const literalLookup: NonNullable<SocketOptions['lookup']> = (address, _, answer) =>
  answer(null, address, familyOf(address) === 'ipv4' ? 4 : 6)

const open = (address: string, options: Omit<SocketOptions, 'type'> = {}): Socket =>
  createSocket({ ...options, type: familyOf(address) === 'ipv4' ? 'udp4' : 'udp6', lookup: literalLookup })

export class UdpSocket {
  /** Resolves when the socket is closed; no `onSent` is called later. */
  readonly closed: Promise<void>
  readonly local: SocketAddress // requested at the bind
  readonly openedAt = performance.now()
  readonly #socket: Socket
  #isOpen = true

  /** `remote` null: the socket is not connected. */
  constructor(
    socket: Socket,
    local: SocketAddress,
    remote: SocketAddress | null,
    { onMessage, onError }: SocketHandlers
  ) {
    this.#socket = socket
    this.local = local
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.removeAllListeners('error').on('error', error => onError(errnoOf(error)))
    socket.on('message', (bytes, from) => {
      if (!remote || isSame(remote, from)) onMessage(bytes, from)
    })
    try {
      socket.setRecvBufferSize(receiveBufferBytes)
    } catch {} // the system's own size is good enough
  }

  /** `to` null: the connected address. `onSent` is called once, later, with null if the system accepted the datagram, else an errno. */
  send(bytes: Buffer, to: SocketAddress | null, onSent: (errno: string | null) => void): void {
    const isFull = this.#isOpen && this.#socket.getSendQueueSize() > maxQueuedBytes
    const onDone = (error: Error | null) => onSent(error ? errnoOf(error) : null)
    if (!this.#isOpen || isFull) queueMicrotask(() => onSent(isFull ? 'ENOBUFS' : 'EPIPE'))
    else if (to) this.#socket.send(bytes, to.port, to.address, onDone)
    else this.#socket.send(bytes, onDone)
  }

  /** Resolves when the socket is closed. Idempotent. */
  close(): Promise<void> {
    if (this.#isOpen) this.#socket.close()
    this.#isOpen = false
    return this.closed
  }
}

/** Compares a sender with the connected address: between bind and connect a socket receives from any sender. */
const isSame = (a: SocketAddress, b: SocketAddress): boolean => a.port === b.port && a.address === b.address

/** A dial of a free port of this host can get the same local port: no other socket is there. */
const selfConnected = (): Error =>
  Object.assign(new Error('the socket is connected to itself'), { code: 'ECONNREFUSED' })

const errnoOf = (error: NodeJS.ErrnoException): string => error.code ?? 'EIO'
