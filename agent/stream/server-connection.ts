// Maintains a control stream to the server: a state machine, see agent/README.md.
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

export interface ServerConnectionOptions extends Omit<SessionOptions, 'certificateChanged' | 'endpoint'> {
  readonly bundleFile: string
  readonly random?: () => number // in [0, 1)
}

export interface ServerConnectionStatus {
  readonly bundle: Bundle
  readonly endpoint: string // of the session, or of the next one
  readonly isConnected: boolean
  readonly sinceMs: number // ms since 1970 of the last change: connected, disconnected or started
  readonly reason: string // why the last session ended
}

type ConnectionState = 'session' | 'backing off' | 'awaiting token' | 'revoked'

/** Delays after refusals that no quick retry can change. */
const refusalDelayMs: Readonly<Record<string, number>> = {
  token_unknown: 30_000,
  instance_conflict: 30_000,
  flooding: 30_000
}
const retryWithinMs = { least: 500, most: 60_000 } // bounds of the server's wish
const leaveMs = 1000 // before another endpoint, if this one shuts down
const returnMs = { least: 60_000, most: 180_000 } // between probes of the preferred endpoint
const enrollmentMs = 60_000
const pollMs = 1000

export class ServerConnection {
  readonly #options: ServerConnectionOptions
  readonly #signal: AbortSignal
  readonly #random: () => number
  readonly #endpoints: Endpoints
  #bundle: Bundle
  #hasUntried = false // another endpoint may answer
  #interrupt = new AbortController() // ends the session, or the wait for the next
  readonly #waiting: (() => Promise<void>)[] = [] // work that needs the stream to be down
  #failures = 0 // consecutive
  #reason = '' // why the last session ended
  #detail = '' // of the reason
  #retryWithinMs: number | null = null // from the server, at the end of the last session
  #isConnected = false
  #changedAtMs: number

  constructor(options: ServerConnectionOptions, signal: AbortSignal) {
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

  status(): ServerConnectionStatus {
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

  /** Resolves with null when the agent stops, or with the bundle if the server has revoked its token. */
  async run(): Promise<Bundle | null> {
    const states = {
      session: () => this.#session(),
      'backing off': () => this.#backOff(),
      'awaiting token': () => this.#awaitToken()
    }
    let state: ConnectionState = 'session'
    while (state !== 'revoked' && !this.#signal.aborted) {
      state = await states[state]()
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) await work()
      this.#interrupt = new AbortController()
    }
    return this.#signal.aborted ? null : this.#bundle
  }

  /** Ends the stream, does the work, and connects again. Never settles if the agent stops first. */
  whileDown<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push(() => work().then(resolve, reject))
    this.#interrupt.abort()
    return promise
  }

  /** Returns a signal that aborts when the agent stops or work waits. */
  #untilInterrupted(): AbortSignal {
    return AbortSignal.any([this.#signal, this.#interrupt.signal])
  }

  async #session(): Promise<ConnectionState> {
    const signal = this.#untilInterrupted()
    this.#endpoints.take(this.#bundle)
    const ended = await runSession(this.#sessionOptions(), this.#bundle, signal)
    const { reason, detail, wasWelcomed } = ended
    this.#reason = reason
    this.#detail = detail
    this.#retryWithinMs = ended.retryWithinMs
    if (reason === 'token_revoked') return 'awaiting token'
    const isUntried = !signal.aborted && this.#endpoints.next(reason !== 'unreachable')
    this.#hasUntried = isUntried && this.#endpoints.areSeveral
    if (this.#hasUntried && reason === 'unreachable') return 'session'
    this.#failures = wasWelcomed ? 1 : this.#failures + 1
    return 'backing off'
  }

  async #backOff(): Promise<ConnectionState> {
    await pause(this.#options.clock, this.#delayMs(), this.#untilInterrupted())
    this.#bundle = this.#reread()
    return 'session'
  }

  /** Waits for a new token: a re-enrollment revokes the old one shortly before it writes the bundle. */
  async #awaitToken(): Promise<ConnectionState> {
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

  /** Full jitter, so that a fleet does not reconnect at the same moment. */
  #delayMs(): number {
    return refusalDelayMs[this.#reason] ?? this.#random() * this.#withinMs()
  }

  /** The server chooses the time, since it knows its number of agents. The agent bounds it. */
  #withinMs(): number {
    if (this.#hasUntried && this.#reason === 'shutting_down') return leaveMs
    const wishedMs = this.#retryWithinMs
    if (wishedMs === null) return Math.min(30_000, 500 * 2 ** (this.#failures - 1))
    return Math.min(retryWithinMs.most, Math.max(retryWithinMs.least, wishedMs))
  }

  #reread(): Bundle {
    const { bundleFile, log } = this.#options
    try {
      return readBundle(bundleFile) ?? this.#bundle
    } catch (error) {
      log.warn('bundle.unreadable', `the agent continues with the previous bundle: ${String(error)}`)
      return this.#bundle
    }
  }

  /** Moves to the preferred endpoint once it answers, so that a fleet spreads again over recovered servers. */
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
      const socket = await connectPinned({ endpoint, pins, clock, signal }).catch(() => null) // retried
      socket?.destroy()
      if (socket === null || signal.aborted) continue
      log.info('control.returning', `${endpoint} answers again; it is this agent's first choice`)
      this.#endpoints.goToPreferred()
      this.#interrupt.abort()
    }
  }

  /** Saves pins and endpoints that the server announces in the bundle of the session. */
  #sessionOptions(): SessionOptions {
    const { bundleFile, handlers, welcomed, connected, disconnected, codec, log } = this.#options
    const { token } = this.#bundle
    const replaced = (): never => {
      throw new Refused('bundle_replaced', 'another enrollment has replaced the bundle')
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
    const endpoints = respond(EndpointsMessage, async (_: null, announced) =>
      take(announced) ? {} : replaced()
    )
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
