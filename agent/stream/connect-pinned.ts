import { createHash } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import { alpn } from '../../kernel/wire/control.ts'

/** The bundle does not pin the server's certificate. */
export class PinMismatch extends Error {
  override readonly name = 'PinMismatch'
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(`the server's certificate has the fingerprint ${got}, pinned is ${expected}`)
    this.expected = expected
    this.got = got
  }
}

export const logPinMismatch = (log: Log, { message, expected, got }: PinMismatch): void =>
  log.error('control.tls_pinned_mismatch', message, { expected, got })

interface ConnectOptions {
  readonly endpoint: string // host:port
  readonly pins: readonly string[] // accepted fingerprints, the current one first; see `fingerprintOf`
  readonly clock: Clock
  readonly signal: AbortSignal
}

const connectMs = 10_000
const turnMs = 30_000 // a server queues the agents of a fleet that reconnects

/** SHA-256 of the server certificate's DER encoding: 64 lower-case hex digits. */
export const fingerprintOf = (socket: TLSSocket): string =>
  createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex')

/**
 * Opens a TLS connection to a server with a pinned certificate. Checks the pin before it sends any data. Rejects with
 * PinMismatch, with the error of the socket or of an invalid endpoint, after 10 s without a connection, after 30 s
 * without TLS, or when `signal` is aborted.
 */
export async function connectPinned({ endpoint, pins, clock, signal }: ConnectOptions): Promise<TLSSocket> {
  const colon = endpoint.lastIndexOf(':')
  const socket = connect({
    host: endpoint.slice(0, colon).replace(/^\[(.+)\]$/, '$1'),
    port: Number(endpoint.slice(colon + 1)),
    minVersion: 'TLSv1.3',
    ALPNProtocols: [alpn],
    rejectUnauthorized: false // the pin replaces the certificate chain
  })
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const fail = (reason: Error): void => {
    reject(reason)
    socket.destroy()
  }
  const stop = (): void => fail(new Error('the agent stops'))
  const failAfter = (ms: number) => clock.after(ms, () => fail(new Error(`no answer within ${ms / 1000} s`)))
  let cancel = failAfter(connectMs)
  socket.once('connect', () => {
    cancel()
    cancel = failAfter(turnMs)
  })
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  socket.on('error', reject) // an error after the handshake also emits 'close', which the stream handles
  socket.once('close', () => reject(new Error('the connection was closed before it was established')))
  socket.once('secureConnect', () => {
    const got = fingerprintOf(socket)
    if (!pins.includes(got)) return fail(new PinMismatch(pins[0] ?? '', got))
    if (socket.alpnProtocol !== alpn) return fail(new Error(`the server does not support ${alpn}`))
    resolve(socket)
  })
  return promise.finally(() => {
    cancel()
    signal.removeEventListener('abort', stop)
  })
}
