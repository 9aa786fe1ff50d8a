// One control stream, from the dial to its end.
import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Codec } from '../../kernel/wire/codec.ts'
import { Ended, Hello, type Welcome } from '../../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, on, Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { openStream } from '../../kernel/wire/stream.ts'
import type { Bundle } from './bundle.ts'
import { connectPinned, fingerprintOf, PinMismatch } from './connect.ts'
import { aborted } from './wait.ts'

export interface SessionOptions {
  readonly codec: Codec
  readonly handlers: readonly BoundHandler[]
  /** What Hello says beside the token. */
  readonly hello: () => Omit<Static<typeof Hello.body>, 'token'>
  /** The server knows us. No question of it is handled before this has settled. */
  readonly welcomed: (welcome: Static<typeof Welcome.body>) => Promise<void>
  /** Everything may be said on the line, until `ended`. */
  readonly joined: (line: MessageChannel, welcome: Static<typeof Welcome.body>, ended: AbortSignal) => void
  readonly left: () => void
  /** The server has shown the next leaf, and knows us. */
  readonly moved: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Why a stream is over, or never came up: a code of the server, or a word of ours. */
export interface SessionEnd {
  readonly reason: string
  readonly wasWelcome: boolean
}

export async function runSession(
  options: SessionOptions,
  bundle: Bundle,
  signal: AbortSignal
): Promise<SessionEnd> {
  const { codec, clock, log } = options
  const socket = await connect(options, bundle, signal)
  if (!socket) return { reason: 'unreachable', wasWelcome: false }

  const leaf = fingerprintOf(socket)
  const told: string[] = []
  const welcomed = Promise.withResolvers<void>()
  const endings = bindHandlers([on(Ended, async (_: null, { code }) => void told.push(code))], () => null)
  const handlers = [...endings, ...options.handlers.map(after(welcomed.promise))]
  const stream = openStream({ socket, codec, handlers, clock, log })
  const stop = (): void => stream.end('stopped')
  signal.addEventListener('abort', stop, { once: true })
  let wasWelcome = false
  try {
    const welcome = await stream.channel.request(Hello, { ...options.hello(), token: bundle.token })
    wasWelcome = true
    if (leaf === bundle.next_server_cert_sha256) options.moved()
    const ended = aborted(stream.ended)
    await Promise.race([options.welcomed(welcome), ended])
    welcomed.resolve()
    log.info('control.connected', `connected to ${bundle.server_endpoint}`, { session: welcome.session_id })
    if (!stream.ended.aborted) options.joined(stream.channel, welcome, stream.ended)
    await ended
  } catch (error) {
    told.push(codeOf(error, log))
  }
  signal.removeEventListener('abort', stop)
  stream.end('stopped')
  if (wasWelcome) options.left()
  const reason = told[0] ?? String(stream.ended.reason)
  log.info('control.disconnected', 'the control stream is down', { reason })
  return { reason, wasWelcome }
}

/** What fails on a stream ends that stream, and nothing that is forwarded. */
function codeOf(error: unknown, log: Log): string {
  if (error instanceof Refused) return error.code
  log.error('control.failed', String(error), { error: error instanceof Error ? error.stack : null })
  return 'internal'
}

async function connect({ clock, log }: SessionOptions, bundle: Bundle, signal: AbortSignal) {
  const { server_endpoint: endpoint, server_cert_sha256: pin, next_server_cert_sha256: next } = bundle
  try {
    return await connectPinned(
      { endpoint, pins: next === undefined ? [pin] : [pin, next] },
      { clock, signal }
    )
  } catch (error) {
    if (signal.aborted) return null
    if (error instanceof PinMismatch)
      log.error('control.tls_pinned_mismatch', error.message, { expected: error.expected, got: error.got })
    else log.warn('control.unreachable', `${endpoint}: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

const after =
  (ready: Promise<void>) =>
  ({ name, run }: BoundHandler): BoundHandler => ({ name, run: (...args) => ready.then(() => run(...args)) })
