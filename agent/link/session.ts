// One control stream, from connecting to its end: the states "connecting", "greeting" and "connected" of the README.
import type { TLSSocket } from 'node:tls'
import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import { Ended, Hello, type Welcome } from '../../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, type Codec, on, Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import type { Bundle } from './bundle.ts'
import { connectPinned, fingerprintOf, PinMismatch } from './connect.ts'
import { aborted } from './wait.ts'

type WelcomeBody = Static<typeof Welcome.body>

export interface SessionOptions {
  readonly codec: Codec
  readonly handlers: readonly BoundHandler[]
  /** Returns the body of Hello, except for the token. */
  readonly hello: () => Omit<Static<typeof Hello.body>, 'token'>
  /** Processes Welcome. Messages of the server are not handled before the promise has settled. */
  readonly welcomed: (welcome: WelcomeBody) => Promise<void>
  /** Called when the agent may send messages; `ended` is aborted when the stream has ended. */
  readonly connected: (channel: MessageChannel, welcome: WelcomeBody, ended: AbortSignal) => void
  /** Called at the end of every stream on which a Welcome came. */
  readonly disconnected: () => void
  /** Called when the server has shown its next certificate and has accepted the token. */
  readonly certificateChanged: () => void
  readonly clock: Clock
  readonly log: Log
}

export interface SessionEnd {
  /** A code of the server, the reason of `Stream.ended`, or 'unreachable' where no stream came up. */
  readonly reason: string
  readonly wasWelcomed: boolean
}

/** Connects, authenticates and serves one stream. Resolves when it has ended; never rejects. */
export async function runSession(
  options: SessionOptions,
  bundle: Bundle,
  signal: AbortSignal
): Promise<SessionEnd> {
  const socket = await connect(options, bundle, signal)
  if (!socket) return { reason: 'unreachable', wasWelcomed: false }
  return new Session(options, bundle, socket).run(signal)
}

async function connect({ clock, log }: SessionOptions, bundle: Bundle, signal: AbortSignal) {
  const { server_endpoint: endpoint, server_cert_sha256: pin, next_server_cert_sha256: next } = bundle
  const pins = next === undefined ? [pin] : [pin, next]
  try {
    return await connectPinned({ endpoint, pins }, { clock, signal })
  } catch (error) {
    if (signal.aborted) return null
    if (error instanceof PinMismatch)
      log.error('control.tls_pinned_mismatch', error.message, { expected: error.expected, got: error.got })
    else log.warn('control.unreachable', `${endpoint}: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

class Session {
  readonly #options: SessionOptions
  readonly #bundle: Bundle
  readonly #stream: Stream
  readonly #showsNextCertificate: boolean
  readonly #ready = Promise.withResolvers<void>() // Welcome has been processed
  #wasWelcomed = false
  #reason: string | null = null // the first one known

  constructor(options: SessionOptions, bundle: Bundle, socket: TLSSocket) {
    const { codec, clock, log } = options
    this.#options = options
    this.#bundle = bundle
    this.#showsNextCertificate = fingerprintOf(socket) === bundle.next_server_cert_sha256
    const ended = on(Ended, async (_: null, { code }) => {
      this.#reason ??= code
    })
    const handlers = [...bindHandlers([ended], () => null), ...options.handlers.map(this.#whenReady)]
    this.#stream = new Stream({ socket, codec, handlers, clock, log })
  }

  async run(signal: AbortSignal): Promise<SessionEnd> {
    const { disconnected, log } = this.#options
    const stop = (): void => this.#stream.end('stopped')
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#serve(await this.#greet())
    } catch (error) {
      this.#reason ??= codeOf(error, log)
    }
    signal.removeEventListener('abort', stop)
    stop()
    if (this.#wasWelcomed) disconnected()
    const reason = this.#reason ?? String(this.#stream.ended.reason)
    log.info('control.disconnected', 'the control stream is down', { reason })
    return { reason, wasWelcomed: this.#wasWelcomed }
  }

  async #greet(): Promise<WelcomeBody> {
    const { hello, certificateChanged } = this.#options
    const welcome = await this.#stream.channel.request(Hello, { ...hello(), token: this.#bundle.token })
    this.#wasWelcomed = true
    if (this.#showsNextCertificate) certificateChanged()
    return welcome
  }

  async #serve(welcome: WelcomeBody): Promise<void> {
    const { welcomed, connected, log } = this.#options
    const { channel, ended } = this.#stream
    await Promise.race([welcomed(welcome), aborted(ended)])
    this.#ready.resolve()
    log.info('control.connected', `connected to ${this.#bundle.server_endpoint}`, {
      session: welcome.session_id
    })
    if (!ended.aborted) connected(channel, welcome, ended)
    await aborted(ended)
  }

  #whenReady = ({ name, run }: BoundHandler): BoundHandler => ({
    name,
    run: (...args) => this.#ready.promise.then(() => run(...args))
  })
}

/** An error in the agent's own code ends this stream only; forwarding goes on. */
function codeOf(error: unknown, log: Log): string {
  if (error instanceof Refused) return error.code
  log.error('control.failed', String(error), { error: error instanceof Error ? error.stack : null })
  return 'internal'
}
