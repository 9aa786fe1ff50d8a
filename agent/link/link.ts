// Keeps a control stream to the server: a state machine, drawn in agent/README.md.
import { bindHandlers, Refused, respond } from '../../kernel/wire/message.ts'
import { NextPin } from '../../plugins/control/wire.ts'
import { type Bundle, hasPending, promoteNextPin, readBundle, saveNextPin } from './bundle.ts'
import { runSession, type SessionOptions } from './session.ts'
import { pause } from './wait.ts'

export interface LinkOptions extends Omit<SessionOptions, 'certificateChanged'> {
  readonly bundleFile: string
  readonly random?: () => number // in [0, 1)
}

export interface LinkStatus {
  readonly bundle: Bundle
  readonly isConnected: boolean
  readonly sinceMs: number // since 1970: of the connection, or of its end or the start
  readonly reason: string // why the last session ended
}

type LinkState = 'session' | 'backing off' | 'awaiting token' | 'revoked'

/** Delays after refusals that no quick retry can change. */
const refusalDelayMs: Readonly<Record<string, number>> = {
  token_unknown: 30_000,
  instance_conflict: 30_000,
  flooding: 30_000
}
const toldMs = { least: 500, most: 60_000 }
const enrollmentMs = 60_000
const pollMs = 1000

export class Link {
  readonly #options: LinkOptions
  readonly #signal: AbortSignal
  #bundle: Bundle
  #interrupt = new AbortController() // ends the session, or the wait for the next
  readonly #waiting: (() => Promise<void>)[] = [] // work for which the stream must be down
  #failures = 0 // in a row
  #reason = '' // why the last session ended
  #detail = '' // of the reason, for people
  #retryWithinMs: number | null = null // as the server said at the end of the last session
  #isConnected = false
  #changedAtMs: number

  constructor(options: LinkOptions, signal: AbortSignal) {
    const bundle = readBundle(options.bundleFile)
    if (!bundle) throw new TypeError(`bundle ${options.bundleFile} was deleted after the start`)
    this.#options = options
    this.#signal = signal
    this.#bundle = bundle
    this.#changedAtMs = options.clock.now()
  }

  status(): LinkStatus {
    const reason = [this.#reason, this.#detail].filter(text => text !== '').join(': ')
    return {
      bundle: this.#bundle,
      isConnected: this.#isConnected,
      sinceMs: this.#changedAtMs,
      reason: reason === '' ? 'it has not been connected yet' : reason
    }
  }

  #setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected
    this.#changedAtMs = this.#options.clock.now()
  }

  /** Resolves with null when the agent stops, or with the bundle whose token the server has revoked. */
  async run(): Promise<Bundle | null> {
    const states = {
      session: () => this.#session(),
      'backing off': () => this.#backOff(),
      'awaiting token': () => this.#awaitToken()
    }
    let state: LinkState = 'session'
    while (state !== 'revoked' && !this.#signal.aborted) {
      state = await states[state]()
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) await work()
      this.#interrupt = new AbortController()
    }
    return this.#signal.aborted ? null : this.#bundle
  }

  /** Ends the stream, does the work while there is none, and connects again. Never settles if the agent stops before. */
  whileDown<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push(() => work().then(resolve, reject))
    this.#interrupt.abort()
    return promise
  }

  /** Aborted when the agent stops, or work waits. */
  #untilInterrupted(): AbortSignal {
    return AbortSignal.any([this.#signal, this.#interrupt.signal])
  }

  async #session(): Promise<LinkState> {
    const signal = this.#untilInterrupted()
    const ended = await runSession(this.#sessionOptions(), this.#bundle, signal)
    const { reason, detail, wasWelcomed, retryWithinMs } = ended
    this.#failures = wasWelcomed ? 1 : this.#failures + 1
    this.#reason = reason
    this.#detail = detail
    this.#retryWithinMs = retryWithinMs
    return reason === 'token_revoked' ? 'awaiting token' : 'backing off'
  }

  async #backOff(): Promise<LinkState> {
    await pause(this.#options.clock, this.#delayMs(), this.#untilInterrupted())
    this.#bundle = this.#reread()
    return 'session'
  }

  /** A re-enrollment revokes the old token shortly before the new one is in the bundle. */
  async #awaitToken(): Promise<LinkState> {
    const { bundleFile, clock } = this.#options
    for (const untilMs = clock.monotonic() + enrollmentMs; ; ) {
      const isPending = hasPending(bundleFile) // before the bundle is read: see writeBundle
      const bundle = this.#reread()
      if (bundle.token !== this.#bundle.token) {
        this.#bundle = bundle
        return 'session'
      }
      if (!isPending || clock.monotonic() >= untilMs || this.#signal.aborted) return 'revoked'
      await pause(clock, pollMs, this.#signal)
    }
  }

  /** Full jitter, so that the agents do not all reconnect at the same moment when a server comes back. */
  #delayMs(): number {
    const { random = Math.random } = this.#options
    return refusalDelayMs[this.#reason] ?? random() * this.#withinMs()
  }

  /** The server knows how many agents it has; it can neither hurry nor keep away an agent beyond bounds. */
  #withinMs(): number {
    const told = this.#retryWithinMs
    if (told === null) return Math.min(30_000, 500 * 2 ** (this.#failures - 1))
    return Math.min(toldMs.most, Math.max(toldMs.least, told))
  }

  #reread(): Bundle {
    const { bundleFile, log } = this.#options
    try {
      return readBundle(bundleFile) ?? this.#bundle
    } catch (error) {
      log.warn('bundle.unreadable', `the previous bundle stays in use: ${String(error)}`)
      return this.#bundle
    }
  }

  /** Pins that the server announces or changes during a session go into the bundle with which it was opened. */
  #sessionOptions(): SessionOptions {
    const { bundleFile, handlers, connected, disconnected, log } = this.#options
    const { token } = this.#bundle
    const nextPin = respond(NextPin, async (_: null, { fingerprint }) => {
      if (!saveNextPin(bundleFile, token, fingerprint))
        throw new Refused('bundle_replaced', 'the bundle now has another token')
      return { fingerprint }
    })
    return {
      ...this.#options,
      handlers: [...handlers, ...bindHandlers([nextPin], () => null)],
      connected: (...stream) => {
        this.#setConnected(true)
        connected(...stream)
      },
      disconnected: () => {
        if (this.#isConnected) this.#setConnected(false)
        disconnected()
      },
      certificateChanged() {
        promoteNextPin(bundleFile, token)
        log.info(
          'control.pin_moved',
          'the server uses its next certificate; the previous one is no longer trusted'
        )
      }
    }
  }
}
