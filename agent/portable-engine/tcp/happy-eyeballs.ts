import { connect, type Socket } from 'node:net'
import type { DialFrom } from '../../engine/dial-from.ts'
import { familyOf } from '../../net/address.ts'
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

/**
 * Happy eyeballs (RFC 8305): dials one address after the other, the next one early when an attempt is slow. Returns the
 * first that connects, or else the failure of the first address that failed. The signal ends all attempts.
 */
export function connectFirst(
  addresses: readonly string[],
  port: number,
  from: DialFrom | null,
  localPorts: LocalPorts,
  signal: AbortSignal
): Promise<ConnectedAddress | DialFailure> {
  const { promise, resolve } = Promise.withResolvers<ConnectedAddress | DialFailure>()
  const attempts = new Set<Socket>()
  const remaining = [...addresses]
  let stagger: NodeJS.Timeout | undefined
  let failure: string | null = null
  let lack: string | null = null

  const settle = (outcome: ConnectedAddress | DialFailure) => {
    clearTimeout(stagger)
    signal.removeEventListener('abort', onAbort)
    remaining.length = 0
    if ('socket' in outcome) attempts.delete(outcome.socket)
    for (const socket of attempts) socket.destroy()
    resolve(outcome)
  }
  const onAbort = () => settle({ failure: null })

  const dial = (address: string) => {
    const localAddress = from?.[familyOf(address)] ?? undefined
    if (localPorts.areUsedUp(address, port, localAddress ?? null)) {
      lack ??= 'no_local_port'
      return next()
    }
    const socket = connect({ host: address, port, localAddress, ...socketOptions, autoSelectFamily: false })
    const limit = setTimeout(() => socket.destroy(), attemptMs)
    const onClose = () => {
      clearTimeout(limit)
      if (lackIn(socket) === 'no_local_port') localPorts.usedUp(address, port, localAddress ?? null)
      lack ??= lackIn(socket)
      failure ??= socket.errored ? failureOf(socket.errored) : 'timeout'
      if (attempts.delete(socket)) next()
    }
    attempts.add(socket)
    socket.on('error', () => {}) // 'close' follows
    socket.once('close', onClose)
    socket.once('connect', () => {
      if (isSelfConnected(socket)) {
        failure ??= 'refused'
        return resetSocket(socket) // leaves the port free for the target
      }
      clearTimeout(limit)
      socket.off('close', onClose)
      settle({ socket, address })
    })
  }
  const next = () => {
    clearTimeout(stagger)
    const address = remaining.shift()
    if (address !== undefined) dial(address)
    else if (attempts.size === 0) settle({ failure, lack })
    if (remaining.length > 0) stagger = setTimeout(next, staggerMs)
  }

  if (signal.aborted) return Promise.resolve({ failure: null })
  signal.addEventListener('abort', onAbort)
  next()
  return promise
}

const lackIn = ({ errored }: Socket): string | null => errored && lackOf(errored)

/** A dial of a free port of this host can get the same local port (simultaneous open, RFC 9293 section 3.5). */
const isSelfConnected = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): boolean =>
  localPort !== undefined && localPort === remotePort && localAddress === remoteAddress
