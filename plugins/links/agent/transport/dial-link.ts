// Dials one link connection: TCP, TLS, the pin of the peer, then HELLO and its answer.
import type { Clock } from '../../../../kernel/base/clock.ts'
import { decodeReason, encodeHello, type Hello } from './frame-bodies.ts'
import { flag, frameType, type ProtocolError, ProtocolError as WrongFrame } from './frames.ts'
import { LinkConnection } from './link-connection.ts'
import { dialTls, type LinkContext, peerPin, type SecureSocket } from './tls-settings.ts'

const connectMs = 3_000
const handshakeMs = 10_000

/** Why no link connection was made. */
export type LinkDialFailure =
  | { readonly failure: 'unreachable' | 'refused' | 'timeout' }
  | { readonly failure: 'pin_mismatch'; readonly got: string }
  | { readonly failure: 'peer_refused'; readonly reason: string }
  /** The listener closed the connection during the handshake. */
  | { readonly failure: 'cut' }

interface Options {
  readonly address: string
  readonly port: number
  readonly context: LinkContext
  readonly pins: readonly string[] // of the peer
  readonly hello: Hello
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly failed: (error: ProtocolError) => void // after the handshake
}

export function dialLink(options: Options): Promise<LinkConnection | LinkDialFailure> {
  const { address, port, context, pins, clock, signal } = options
  const { promise, resolve } = Promise.withResolvers<LinkConnection | LinkDialFailure>()
  const socket = dialTls(address, port, context)
  const { raw, tls } = socket
  const fail = (failure: LinkDialFailure): void => {
    resolve(failure)
    raw.destroy()
  }
  const stop = (): void => fail({ failure: 'timeout' })
  let connectedAt: number | null = null
  let cancel = clock.after(connectMs, stop)
  signal.addEventListener('abort', stop, { once: true })
  raw.once('connect', () => {
    void cancel()
    cancel = clock.after(handshakeMs, stop)
    connectedAt = clock.monotonic()
  })
  raw.on('error', ({ code }: NodeJS.ErrnoException) =>
    fail({ failure: connectedAt !== null ? 'cut' : code === 'ECONNREFUSED' ? 'refused' : 'unreachable' })
  )
  tls.on('error', () => fail({ failure: 'cut' })) // after an error of `raw`, this changes nothing
  raw.once('close', () => fail({ failure: 'cut' }))
  tls.once('secureConnect', () => {
    const got = peerPin(socket)
    if (!pins.includes(got)) fail({ failure: 'pin_mismatch', got })
    else greet(socket, clock.monotonic() - (connectedAt ?? 0), options).then(resolve)
  })
  if (signal.aborted) stop()
  return promise.finally(() => {
    void cancel()
    signal.removeEventListener('abort', stop)
  })
}

/** Sends HELLO and waits for the answer of the listener, which has checked this agent's pin. */
function greet(
  socket: SecureSocket,
  ms: number,
  { hello, clock, failed }: Options
): Promise<LinkConnection | LinkDialFailure> {
  const { promise, resolve } = Promise.withResolvers<LinkConnection | LinkDialFailure>()
  const connection = new LinkConnection(socket, { clock, handshakeMs: ms, role: 'dialer', failed })
  connection.use({
    received({ type, flags, number, payload }) {
      if (number !== 0) throw new WrongFrame(`answer to HELLO with number ${number}`)
      if (type === frameType.hello && flags === flag.answer) {
        connection.hold()
        return resolve(connection)
      }
      if (type !== frameType.refused) throw new WrongFrame(`frame type ${type} instead of HELLO`)
      resolve({ failure: 'peer_refused', reason: decodeReason(payload) })
      connection.close()
    },
    closed: () => resolve({ failure: 'cut' })
  })
  connection.send(frameType.hello, encodeHello(hello))
  return promise
}
