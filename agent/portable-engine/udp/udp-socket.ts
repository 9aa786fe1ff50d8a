// Datagram sockets that are bound within the call, never ask for a name, and never queue without bound.
import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { once } from 'node:events'
import { familyOf } from '../../net/address.ts'

/** What the kernel does not take waits in memory; beyond this it is dropped. */
const maxQueuedBytes = 1024 * 1024
/** A burst waits in the kernel while we are busy. */
const receiveBufferBytes = 4 * 1024 * 1024

/** An address and port, the address as the system writes it: with its zone. */
export type Place = Pick<RemoteInfo, 'address' | 'port'>

export interface Datagrams {
  readonly closed: Promise<void> // `onSent` never comes after that
  /** To `to`, or the peer. `onSent` comes once, later: null when the system has taken it, else why not. */
  send(bytes: Buffer, to: Place | null, onSent: (errno: string | null) => void): void
  /** Resolves when it is closed. Idempotent. */
  close(): Promise<void>
}

export interface Handlers {
  onMessage(bytes: Buffer, from: RemoteInfo): void
  /** A connected socket hears that what it sent did not arrive. */
  onError(errno: string): void
}

/** `shared`: other sockets of this user may have the port too, on this address or another. */
export type Holding = 'alone' | 'shared'

/** Throws what the system says. */
export function bindSocket(place: Place, holding: Holding, handlers: Handlers): Datagrams {
  const { address, port } = place
  const socket = open(address, { reusePort: holding === 'shared', ipv6Only: familyOf(address) === 'ipv6' })
  const failures: Error[] = []
  socket.once('error', error => failures.push(error))
  socket.bind({ address, port, exclusive: true }) // within the call, since no name is asked for
  const [failure] = failures
  if (failure === undefined) return use(socket, null, handlers)

  socket.close()
  throw failure
}

/** Rejects when the system knows no way there. */
export async function connectSocket({ address, port }: Place, handlers: Handlers): Promise<Datagrams> {
  const socket = open(address)
  socket.connect(port, address)
  try {
    await once(socket, 'connect')
    return use(socket, socket.remoteAddress(), handlers)
  } catch (error) {
    socket.close()
    throw error
  }
}

const literal: NonNullable<SocketOptions['lookup']> = (address, _, answer) =>
  answer(null, address, familyOf(address) === 'ipv4' ? 4 : 6)

const open = (address: string, options: Omit<SocketOptions, 'type'> = {}): Socket =>
  createSocket({ ...options, type: familyOf(address) === 'ipv4' ? 'udp4' : 'udp6', lookup: literal })

function use(socket: Socket, peer: Place | null, { onMessage, onError }: Handlers): Datagrams {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let isOpen = true
  socket.removeAllListeners('error').on('error', error => onError(errnoOf(error)))
  socket.on('message', (bytes, from) => {
    if (!peer || isSame(peer, from)) onMessage(bytes, from)
  })
  socket.once('close', () => resolve())
  try {
    socket.setRecvBufferSize(receiveBufferBytes)
  } catch {} // a system that does not grant it keeps what it has

  return {
    closed,
    send(bytes, to, onSent) {
      const refusal = !isOpen ? 'EPIPE' : socket.getSendQueueSize() > maxQueuedBytes ? 'ENOBUFS' : null
      const tell = (error: Error | null) => onSent(error ? errnoOf(error) : null)
      if (refusal !== null) queueMicrotask(() => onSent(refusal))
      else if (to) socket.send(bytes, to.port, to.address, tell)
      else socket.send(bytes, tell)
    },
    close() {
      if (isOpen) socket.close()
      isOpen = false
      return closed
    }
  }
}

/** Between binding and connecting a socket hears everybody. */
const isSame = (a: Place, b: Place): boolean => a.port === b.port && a.address === b.address

const errnoOf = (error: NodeJS.ErrnoException): string => error.code ?? 'EIO'
