import { connect, type Socket } from 'node:net'
import type { DialFrom } from '../../engine/dial-from.ts'
import { familyOf } from '../../net/address.ts'
import type { DescriptorShare } from '../net/descriptors.ts'
import { type DialFailure, failureOf, lackOf } from '../net/dial-failure.ts'
import type { LocalPorts } from '../net/local-ports.ts'
import { resetSocket } from './reset-socket.ts'
import { socketOptions } from './tcp-port.ts'

const attemptMs = 3_000
const staggerMs = 250

export interface ConnectedAddress {
  readonly socket: Socket
  readonly address: string
}

export interface Route {
  readonly port: number
  readonly from: DialFrom | null
  readonly localPorts: LocalPorts
  /** Has one descriptor each for attempts beside the first one. */
  readonly share: Pick<DescriptorShare, 'reserveOwn' | 'release'>
}

/**
 * Happy eyeballs (RFC 8305): dials one address after the other, the next one early when an attempt is slow and a descriptor
 * is left. Returns the first that connects, or else the failure of the first address that failed. The signal ends all
 * attempts.
 */
export function connectFirst(
  addresses: readonly string[],
  route: Route,
  signal: AbortSignal
): Promise<ConnectedAddress | DialFailure> {
  const { promise, resolve } = Promise.withResolvers<ConnectedAddress | DialFailure>()
  const attempts = new Set<Socket>()
  const remaining = [...addresses]
  let reserved = 0 // for the attempts but one
  let stagger: NodeJS.Timeout | undefined
  let failure: string | null = null
  let lack: string | null = null

  const settle = (outcome: ConnectedAddress | DialFailure) => {
    clearTimeout(stagger)
    signal.removeEventListener('abort', onAbort)
    remaining.length = 0
    if ('socket' in outcome) attempts.delete(outcome.socket)
    for (const socket of attempts) socket.destroy()
    route.share.release(reserved)
    reserved = 0
    resolve(outcome)
  }
  const onAbort = () => settle({ failure: null })

  const attempt = (address: string) => {
    const socket = dial(address, route, outcome => {
      if ('socket' in outcome) return settle(outcome)
      failure ??= outcome.failure
      lack ??= outcome.lack ?? null
      if (socket && attempts.delete(socket)) ended()
    })
    if (socket) {
      attempts.add(socket)
    } else {
      lack ??= 'no_local_port'
      ended()
    }
  }
  const ended = () => {
    if (reserved > 0) {
      reserved--
      route.share.release(1)
    }
    next()
  }
  const next = () => {
    clearTimeout(stagger)
    if (remaining.length > 0 && attempts.size > 0) {
      if (!route.share.reserveOwn()) return // tries again when an attempt ends
      reserved++
    }
    const address = remaining.shift()
    if (address !== undefined) attempt(address)
    else if (attempts.size === 0) settle({ failure, lack })
    if (remaining.length > 0) stagger = setTimeout(next, staggerMs)
  }

  if (signal.aborted) return Promise.resolve({ failure: null })
  signal.addEventListener('abort', onAbort)
  next()
  return promise
}

/** Dials one address, for 3 s at most, and calls `onEnd` once. Returns null if no local port is left for the address. */
function dial(
  address: string,
  { port, from, localPorts }: Omit<Route, 'share'>,
  onEnd: (outcome: ConnectedAddress | DialFailure) => void
): Socket | null {
  const localAddress = from?.[familyOf(address)] ?? undefined
  if (localPorts.areUsedUp(address, port, localAddress ?? null)) return null
  const socket = connect({ host: address, port, localAddress, ...socketOptions, autoSelectFamily: false })
  const limit = setTimeout(() => socket.destroy(), attemptMs)
  let reason: string | null = 'timeout'
  const onClose = () => {
    clearTimeout(limit)
    const { errored } = socket
    const lack = errored && lackOf(errored)
    if (lack === 'no_local_port') localPorts.usedUp(address, port, localAddress ?? null)
    onEnd({ failure: errored ? failureOf(errored) : reason, lack })
  }
  socket.on('error', () => {}) // 'close' follows
  socket.once('close', onClose)
  socket.once('connect', () => {
    if (isSelfConnected(socket)) {
      reason = 'refused'
      return resetSocket(socket) // leaves the port free for the target
    }
    clearTimeout(limit)
    socket.off('close', onClose)
    onEnd({ socket, address })
  })
  return socket
}

/** A dial of a free port of this host can get the same local port (simultaneous open, RFC 9293 section 3.5). */
const isSelfConnected = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): boolean =>
  localPort !== undefined && localPort === remotePort && localAddress === remoteAddress
