import { createHash } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import type { Clock } from '../../kernel/base/clock.ts'
import { alpn } from '../../kernel/wire/control.ts'

/** The server's leaf is another than the one that this agent was told to trust. */
export class PinMismatch extends Error {
  override readonly name = 'PinMismatch'
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(`the server shows a certificate with fingerprint ${got}, pinned is ${expected}`)
    this.expected = expected
    this.got = got
  }
}

export interface PinnedEndpoint {
  readonly endpoint: string // host:port
  readonly pins: readonly string[] // SHA-256 of the leaf's DER, 64 hex digits; the first is the present one
}

export interface DialOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
}

const limitMs = 10_000

/** SHA-256 of the leaf that the server has shown: public, as the pins are. */
export const fingerprintOf = (socket: TLSSocket): string =>
  createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex')

/** A TLS connection to the pinned server. The pin is judged before a byte of ours goes out. */
export function connectPinned(
  { endpoint, pins }: PinnedEndpoint,
  { clock, signal }: DialOptions
): Promise<TLSSocket> {
  const colon = endpoint.lastIndexOf(':')
  const socket = connect({
    host: endpoint.slice(0, colon).replace(/^\[(.+)\]$/, '$1'),
    port: Number(endpoint.slice(colon + 1)),
    minVersion: 'TLSv1.3',
    ALPNProtocols: [alpn],
    rejectUnauthorized: false // the pin decides, and it decides alone
  })
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const giveUp = (reason: Error): void => {
    reject(reason)
    socket.destroy()
  }
  const stop = (): void => giveUp(new Error('the agent stops'))
  const cancel = clock.after(limitMs, () => giveUp(new Error(`no answer within ${limitMs / 1000} s`)))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  socket.on('error', reject) // later errors come with 'close', which the stream sees
  socket.once('close', () => reject(new Error('the connection was closed before it was up')))
  socket.once('secureConnect', () => {
    const got = fingerprintOf(socket)
    if (!pins.includes(got)) return giveUp(new PinMismatch(pins[0] ?? '', got))
    if (socket.alpnProtocol !== alpn) return giveUp(new Error(`the server does not speak ${alpn}`))
    resolve(socket)
  })
  return promise.finally(() => {
    cancel()
    signal.removeEventListener('abort', stop)
  })
}
