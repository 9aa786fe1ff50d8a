// One control stream: the states "connecting", "handshake" and "connected" of the README.
import type { TLSSocket } from 'node:tls'
import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import { connectFailure } from '../../kernel/platform/connect-failure.ts'
import { Ended, Hello, type Welcome } from '../../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, type Codec, on, Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { type Bundle, pinsOf } from './bundle.ts'
import { connectPinned, fingerprintOf, logPinMismatch, PinMismatch } from './connect-pinned.ts'
import type { HelloBody } from './hello.ts'
import { aborted } from './wait.ts'

type WelcomeBody = Static<typeof Welcome.body>

export interface SessionOptions {
  readonly endpoint: string // host:port
  readonly codec: Codec
  readonly handlers: readonly BoundHandler[]
  readonly hello: () => HelloBody
  /** Processes Welcome. Later messages of the server wait until the promise has resolved. */
  readonly welcomed: (welcome: WelcomeBody) => Promise<void>
  /** Called when the agent can send messages. `ended` is aborted when the stream has ended. */
  readonly connected: (channel: MessageChannel, welcome: WelcomeBody, ended: AbortSignal) => void
  /** Called at the end of every stream that received Welcome. */
  readonly disconnected: () => void
  /** Called when the server uses its next certificate and has accepted the token. */
  readonly certificateChanged: () => void
  readonly clock: Clock
  readonly log: Log
}

interface SessionEnd {
  readonly reason: string
  readonly detail: string
  readonly wasWelcomed: boolean
  readonly retryWithinMs: number | null // from the server
}

const unreachable = { reason: 'unreachable', wasWelcomed: false, retryWithinMs: null }

/**
 * Connects, authenticates and serves one stream. Resolves when it has ended; never rejects. `reason` is the code of a
 * refusal or of Ended, 'internal' after an error of the agent, the reason of `Stream.ended`, or 'unreachable' with the
 * cause in `detail`.
 */
export async function runSession(
  options: SessionOptions,
  bundle: Bundle,
  signal: AbortSignal
): Promise<SessionEnd> {
  const { codec, clock, log } = options
  const found = await connect(options, bundle, signal)
  if (typeof found === 'string') return { ...unreachable, detail: found }
  const socket = found

  const usesNextCertificate = fingerprintOf(socket) === bundle.next_server_cert_sha256
  const reasons: string[] = [] // the first one counts
  let retryWithinMs: number | null = null
  const onEnded = on(Ended, async (_: null, { code, retry_within_ms: withinMs = null }) => {
    reasons.push(code)
    retryWithinMs = withinMs
  })
  const ready = Promise.withResolvers<void>()
  const handlers = [
    ...bindHandlers([onEnded], () => null),
    ...options.handlers.map(handler => delayed(handler, ready.promise))
  ]
  const stream = new Stream({ socket, codec, handlers, clock, log })
  const stop = (): void => stream.end('stopped')
  signal.addEventListener('abort', stop, { once: true })
  let wasWelcomed = false
  try {
    const welcome = await stream.channel.request(Hello, { ...options.hello(), token: bundle.token })
    wasWelcomed = true
    if (usesNextCertificate) options.certificateChanged()
    await Promise.race([options.welcomed(welcome), aborted(stream.ended)])
    ready.resolve()
    log.info('control.connected', `connected to ${options.endpoint}`, { session: welcome.session_id })
    if (!stream.ended.aborted) options.connected(stream.channel, welcome, stream.ended)
    await aborted(stream.ended)
  } catch (error) {
    reasons.push(codeOf(error, log))
  }
  signal.removeEventListener('abort', stop)
  stop()
  if (wasWelcomed) options.disconnected()
  const reason = reasons[0] ?? String(stream.ended.reason)
  log.info('control.disconnected', 'the control stream is down', { reason })
  return { reason, detail: '', wasWelcomed, retryWithinMs }
}

/** Resolves with the socket, or with the cause of the failure. */
async function connect(
  { endpoint, clock, log }: SessionOptions,
  bundle: Bundle,
  signal: AbortSignal
): Promise<TLSSocket | string> {
  try {
    return await connectPinned({ endpoint, pins: pinsOf(bundle), clock, signal })
  } catch (error) {
    if (signal.aborted) return 'the agent stops or reloads'
    const { cause } = connectFailure(error)
    if (error instanceof PinMismatch) logPinMismatch(log, error)
    else log.warn('control.unreachable', `${endpoint}: ${cause}`)
    return cause
  }
}

const delayed = ({ run, ...handler }: BoundHandler, ready: Promise<void>): BoundHandler => ({
  ...handler,
  run: (...args) => ready.then(() => run(...args))
})

/** An error in the agent's own code ends this stream only; forwarding continues. */
function codeOf(error: unknown, log: Log): string {
  if (error instanceof Refused) return error.code
  log.error('control.failed', String(error), { error: error instanceof Error ? error.stack : null })
  return 'internal'
}
