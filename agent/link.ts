// The control stream, kept up: dial, say hello, serve what the server asks, and begin again when it ends.
import type { Static } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Codec } from '../kernel/wire/codec.ts'
import { Ended, Hello, type Welcome } from '../kernel/wire/control.ts'
import type { Line } from '../kernel/wire/exchange.ts'
import { type Bound, bind, on, Refused } from '../kernel/wire/message.ts'
import { openStream } from '../kernel/wire/stream.ts'
import { type Bundle, hasPending, readBundle } from './bundle.ts'
import { dial, PinMismatch } from './dial.ts'

export interface LinkOptions {
  readonly bundleFile: string
  readonly codec: Codec
  readonly handlers: readonly Bound[]
  /** What Hello says beside the token. */
  readonly hello: () => Omit<Static<typeof Hello.body>, 'token'>
  /** The server knows us. No question of it is handled before this has settled. */
  readonly welcomed: (welcome: Static<typeof Welcome.body>) => Promise<void>
  /** Everything may be said on the line, until `ended`. */
  readonly joined: (line: Line, welcome: Static<typeof Welcome.body>, ended: AbortSignal) => void
  readonly left: () => void
  readonly clock: Clock
  readonly log: Log
  readonly random?: () => number // of [0, 1)
}

/** Why a stream is over, or never came up: a code of the server, or a word of ours. */
interface End {
  readonly reason: string
  readonly wasWelcome: boolean
}

const unknownTokenMs = 30_000
const conflictMs = 30_000
const pendingMs = 60_000

/** Until `signal`, or until the server has revoked the last token that this agent has: that one is answered. */
export async function keepLink(options: LinkOptions, signal: AbortSignal): Promise<Bundle | null> {
  const { clock, random = Math.random } = options
  let bundle = mustRead(options.bundleFile)
  for (let failures = 0; !signal.aborted; ) {
    const { reason, wasWelcome } = await session(options, bundle, signal)
    failures = wasWelcome ? 1 : failures + 1
    if (signal.aborted) break
    if (reason === 'token_revoked') {
      const next = await awaitOther(options, bundle, signal)
      if (next === null) return signal.aborted ? null : bundle
      bundle = next
      continue
    }
    await pause(clock, delayMs(reason, failures, random), signal)
    bundle = reread(options, bundle)
  }
  return null
}

/** Full jitter: a fleet whose server comes back does not come back in step. */
function delayMs(reason: string, failures: number, random: () => number): number {
  if (reason === 'token_unknown') return unknownTokenMs
  if (reason === 'instance_conflict') return conflictMs
  return random() * Math.min(30_000, 500 * 2 ** (failures - 1))
}

/** One stream, from the dial to its end. */
async function session(options: LinkOptions, bundle: Bundle, signal: AbortSignal): Promise<End> {
  const { codec, clock, log } = options
  const socket = await reach(options, bundle, signal)
  if (!socket) return { reason: 'unreachable', wasWelcome: false }

  const told: string[] = []
  const welcomed = Promise.withResolvers<void>()
  const endings = bind([on(Ended, async (_: null, { code }) => void told.push(code))], () => null)
  const handlers = [...endings, ...options.handlers.map(after(welcomed.promise))]
  const stream = openStream({ socket, codec, handlers, clock, log })
  const stop = (): void => stream.end('stopped')
  signal.addEventListener('abort', stop, { once: true })
  let wasWelcome = false
  try {
    const welcome = await stream.line.ask(Hello, { ...options.hello(), token: bundle.token })
    wasWelcome = true
    const ended = aborted(stream.ended)
    await Promise.race([options.welcomed(welcome), ended])
    welcomed.resolve()
    log.info('control.connected', `connected to ${bundle.server_endpoint}`, { session: welcome.session_id })
    if (!stream.ended.aborted) options.joined(stream.line, welcome, stream.ended)
    await ended
  } catch (error) {
    told.push(codeOf(error, log))
  }
  signal.removeEventListener('abort', stop)
  stream.end('stopped')
  if (wasWelcome) options.left()
  const reason = told[0] ?? String(stream.ended.reason)
  log.info('control.disconnected', 'the control stream is down, rules go on', { reason })
  return { reason, wasWelcome }
}

/** What fails in a plugin's half of a stream ends that stream, and nothing that is forwarded. */
function codeOf(error: unknown, log: Log): string {
  if (error instanceof Refused) return error.code
  log.error('control.failed', String(error), { error: error instanceof Error ? error.stack : null })
  return 'internal'
}

async function reach({ clock, log }: LinkOptions, bundle: Bundle, signal: AbortSignal) {
  const { server_endpoint: endpoint, server_cert_sha256: pin, next_server_cert_sha256: next } = bundle
  try {
    return await dial({ endpoint, pins: next === undefined ? [pin] : [pin, next] }, { clock, signal })
  } catch (error) {
    if (signal.aborted) return null
    if (error instanceof PinMismatch)
      log.error('control.tls_pinned_mismatch', error.message, { expected: error.expected, got: error.got })
    else log.warn('control.unreachable', `${endpoint}: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

/** A re-enrollment ends the old token a moment before the new one lies in the bundle. */
async function awaitOther(
  options: LinkOptions,
  refused: Bundle,
  signal: AbortSignal
): Promise<Bundle | null> {
  const { bundleFile, clock } = options
  for (const untilMs = clock.now() + pendingMs; ; ) {
    const isPending = hasPending(bundleFile) // asked first: see writeBundle
    const bundle = reread(options, refused)
    if (bundle.token !== refused.token) return bundle
    if (!isPending || clock.now() >= untilMs || signal.aborted) return null
    await pause(clock, 1000, signal)
  }
}

function reread({ bundleFile, log }: LinkOptions, before: Bundle): Bundle {
  try {
    return readBundle(bundleFile) ?? before
  } catch (error) {
    log.warn('bundle.unreadable', `the bundle read before stays in use: ${String(error)}`)
    return before
  }
}

function mustRead(file: string): Bundle {
  const bundle = readBundle(file)
  if (!bundle) throw new TypeError(`${file} was there when the agent was opened`)
  return bundle
}

const after =
  (ready: Promise<void>) =>
  ({ name, run }: Bound): Bound => ({ name, run: (...args) => ready.then(() => run(...args)) })

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
