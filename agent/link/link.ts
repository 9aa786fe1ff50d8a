// Keeps a control stream to the server: a state machine, drawn in agent/README.md.
import type { Static } from 'typebox'
import { bindHandlers, Refused, respond } from '../../kernel/wire/message.ts'
import { Endpoints as EndpointsMessage, welcomePart } from '../wire/endpoints.ts'
import { NextPin } from '../wire/next-pin.ts'
import {
  type Bundle,
  hasPending,
  pinsOf,
  promoteNextPin,
  readBundle,
  saveEndpoints,
  saveNextPin
} from './bundle.ts'
import { connectPinned } from './connect-pinned.ts'
import { Endpoints } from './endpoints.ts'
import { runSession, type SessionOptions } from './session.ts'
import { pause } from './wait.ts'

export interface LinkOptions extends Omit<SessionOptions, 'certificateChanged' | 'endpoint'> {
  readonly bundleFile: string
  readonly random?: () => number // in [0, 1)
}

export interface LinkStatus {
  readonly bundle: Bundle
  readonly endpoint: string // of the session, or of the next one
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
const leaveMs = 1000 // from an endpoint that says it is going to another one
const returnMs = { least: 60_000, most: 180_000 } // between questions whether the preferred endpoint answers again
const enrollmentMs = 60_000
const pollMs = 1000

export class Link {
  readonly #options: LinkOptions
  readonly #signal: AbortSignal
  readonly #random: () => number
  readonly #endpoints: Endpoints
  #bundle: Bundle
  #mayHurry = false // another endpoint may answer at once
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
    this.#random = options.random ?? Math.random
    this.#endpoints = new Endpoints(this.#random)
    this.#bundle = bundle
    this.#endpoints.take(bundle)
    this.#changedAtMs = options.clock.now()
  }

  status(): LinkStatus {
    const reason = [this.#reason, this.#detail].filter(text => text !== '').join(': ')
    return {
      bundle: this.#bundle,
      endpoint: this.#endpoints.current,
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
    this.#endpoints.take(this.#bundle)
    const ended = await runSession(this.#sessionOptions(), this.#bundle, signal)
    const { reason, detail, wasWelcomed, retryWithinMs } = ended
    this.#reason = reason
    this.#detail = detail
    this.#retryWithinMs = retryWithinMs
    if (reason === 'token_revoked') return 'awaiting token'
    const isUntried = !signal.aborted && this.#endpoints.next(reason !== 'unreachable')
    this.#mayHurry = isUntried && this.#endpoints.areSeveral
    if (this.#mayHurry && reason === 'unreachable') return 'session'
    this.#failures = wasWelcomed ? 1 : this.#failures + 1
    return 'backing off'
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
    return refusalDelayMs[this.#reason] ?? this.#random() * this.#withinMs()
  }

  /** The server knows how many agents it has; it can neither hurry nor keep away an agent beyond bounds. */
  #withinMs(): number {
    if (this.#mayHurry && this.#reason === 'shutting_down') return leaveMs
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

  /** Leaves for the preferred endpoint when that answers, so that a fleet spreads again over servers that have come back. */
  async #returnToPreferred(ended: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const { least, most } = returnMs
    const signal = AbortSignal.any([ended, this.#untilInterrupted()])
    for (;;) {
      await pause(clock, least + this.#random() * (most - least), signal)
      const endpoint = this.#endpoints.preferred
      if (signal.aborted) return
      if (endpoint === null) continue
      const pins = pinsOf(this.#bundle)
      const socket = await connectPinned({ endpoint, pins, clock, signal }).catch(() => null) // it is asked again
      socket?.destroy()
      if (socket === null || signal.aborted) continue
      log.info('control.returning', `${endpoint} answers again, and is this agent's first choice`)
      this.#endpoints.goToPreferred()
      this.#interrupt.abort()
    }
  }

  /** Pins and endpoints that the server announces or changes during a session go into the bundle with which it was opened. */
  #sessionOptions(): SessionOptions {
    const { bundleFile, handlers, welcomed, connected, disconnected, codec, log } = this.#options
    const { token } = this.#bundle
    const replaced = (): never => {
      throw new Refused('bundle_replaced', 'the bundle now has another token')
    }
    const nextPin = respond(NextPin, async (_: null, { fingerprint }) =>
      saveNextPin(bundleFile, token, fingerprint) ? { fingerprint } : replaced()
    )
    const take = ({ endpoints }: Static<typeof EndpointsMessage.body>): boolean => {
      if (!saveEndpoints(bundleFile, token, endpoints)) return false
      this.#bundle = { ...this.#bundle, server_endpoints: endpoints }
      this.#endpoints.take(this.#bundle)
      return true
    }
    const endpoints = respond(EndpointsMessage, async (_: null, told) => (take(told) ? {} : replaced()))
    return {
      ...this.#options,
      endpoint: this.#endpoints.current,
      handlers: [...handlers, ...bindHandlers([nextPin, endpoints], () => null)],
      async welcomed(welcome) {
        const part = welcome.parts[welcomePart]
        if (part) take(codec.decode(EndpointsMessage, part))
        await welcomed(welcome)
      },
      connected: (channel, welcome, ended) => {
        this.#setConnected(true)
        void this.#returnToPreferred(ended)
        connected(channel, welcome, ended)
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
