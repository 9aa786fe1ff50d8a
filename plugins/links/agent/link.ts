// One end of a link: its control connection, its direction, and its link connections.
import { increment } from '../../../kernel/base/metric.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import type { Link } from '../wire.ts'
import type { ByteCounts } from './carrier.ts'
import { type LinkRole, type Roles, rolesOf } from './direction.ts'
import { type Exits, FarRequests } from './far-requests.ts'
import type { LinkHost } from './link-host.ts'
import { Pool } from './pool.ts'
import { type Refusal, requestOpen } from './request-open.ts'
import { ControlConnection } from './transport/control-connection.ts'
import { encodeOpen, type Hello, type Open, type Opened } from './transport/frame-bodies.ts'
import { flag, frameType, type ProtocolError } from './transport/frames.ts'
import type { LinkConnection } from './transport/link-connection.ts'
import { LinkDialer, type LinkFailure } from './transport/link-dialer.ts'
import { PingMeter } from './transport/ping-meter.ts'

const lateMs = 10_000 // then the link is down, and the other direction is tried
const newMs = 3_000
/** This end decides them, whether or not the peer has its end of the link. */
const localFailures: readonly LinkFailure['failure'][] = [
  'pin_mismatch',
  'no_endpoint',
  'denied_by_agent',
  'peer_away'
]
const backOffMs = { least: 500, most: 10_000 }
const wrongPinMs = { least: 20_000, most: 40_000 }
const trimMs = 5_000
const budgetMs = 4_000
const defaultOpenMs = 100
const maxResults = 31

export type LinkState = 'connecting' | 'up' | 'down'

/** A link connection with an open target. It holds what the target sends. */
export interface NearTarget {
  readonly connection: LinkConnection
  readonly opened: Opened
}

interface OpenOptions {
  readonly owner: string // of the rule
  readonly flags: number
  readonly signal: AbortSignal
}

interface Options {
  readonly host: LinkHost
  readonly exits: Exits
  readonly changed: (link: AgentLink) => void
}

export class AgentLink {
  readonly counts: ByteCounts = { up: 0, down: 0 }
  readonly opens = new Map<string, number>() // by result
  readonly handshakes = new Map<string, number>() // by kind
  readonly meter: PingMeter
  readonly #options: Options
  readonly #pool: Pool
  readonly #far: FarRequests
  readonly #data = new Set<LinkConnection>()
  readonly #opening = new Set<LinkConnection>()
  readonly #stopTrim: Release
  #config: Link
  #roles: Roles
  #dialer: LinkDialer
  #control: ControlConnection | null = null
  #state: LinkState = 'connecting'
  #reason: string | null = null
  #sinceMs: number // of the state, monotonic
  #lastRole: LinkRole | null = null // while the link was up
  #failures = 0 // consecutive
  #failure: string | null = null // of the last attempt
  #isDialing = false
  #isClosed = false
  #isDraining = false
  readonly #awaitingIdle: (() => void)[] = []
  #fresh: ((connection: LinkConnection) => void)[] = [] // tests that wait for a new link connection
  #cancelAttempt: Release = () => {}
  #cancelLate: Release = () => {}
  #cancelDead: Release = () => {}
  #listenProblem: string | null = null

  constructor(config: Link, options: Options) {
    const { clock } = options.host
    this.#config = config
    this.#options = options
    this.#sinceMs = clock.monotonic()
    this.meter = new PingMeter(clock)
    this.#roles = rolesOf(config)
    this.#dialer = this.#newDialer()
    this.#pool = new Pool({
      clock,
      maxIdle: () => this.#config.max_idle,
      openMs: () => this.#openMs,
      dial: count => this.#dialData(count)
    })
    this.#far = new FarRequests({
      peerId: config.peer_id,
      maxIdle: () => this.#config.max_idle,
      exits: options.exits,
      counts: this.counts,
      count: this.#countOpen,
      ended: () => this.#noteIdle(),
      clock
    })
    this.#stopTrim = clock.every(trimMs, () => this.#pool.trim())
    this.#begin()
  }

  get config(): Link {
    return this.#config
  }

  get state(): LinkState {
    return this.#state
  }

  /** Why the link is down. */
  get reason(): string | null {
    return this.#reason
  }

  get role(): LinkRole | null {
    return this.#control?.connection.role ?? this.#roles.primary
  }

  /** The port that this end needs; null: it never listens. */
  get listenPort(): number | null {
    const { primary, hasFallback } = this.#roles
    const mayListen = primary === 'listener' || hasFallback
    return mayListen && !this.#isClosed && !this.#isDraining ? (this.#config.listen_port ?? null) : null
  }

  get idleCount(): number {
    return this.#config.side === 'near' ? this.#pool.idle : this.#far.idle
  }

  /** Link connections that carry a client connection, or wait for an answer. */
  get openCount(): number {
    return this.#data.size - this.idleCount
  }

  /** True if the last request for a link connection has waited in vain. */
  get isExhausted(): boolean {
    return this.#pool.isExhausted
  }

  get rttMs(): number {
    return this.meter.roundTrips()?.last ?? this.#control?.connection.handshakeMs ?? 0
  }

  /** Makes no new connections, and closes the link when the last one has ended. */
  async drain(): Promise<void> {
    this.#isDraining = true
    this.#cancelAll()
    this.#pool.close()
    await this.idle()
    this.close()
  }

  /** Resolves when no link connection carries a client connection. */
  async idle(): Promise<void> {
    if (this.openCount === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaitingIdle.push(resolve)
    await promise
  }

  /** Takes a changed object over. Live connections continue. */
  update(config: Link): void {
    const before = this.#roles
    this.#config = config
    this.#roles = rolesOf(config)
    const role = this.#control?.connection.role
    const isAllowed = role === this.#roles.primary || this.#roles.hasFallback
    if (this.#control && isAllowed) return
    if (before.primary !== this.#roles.primary) this.#lastRole = null
    if (this.#control) this.#controlEnded(null)
    else this.#begin()
  }

  /** Dials now if this end may dial. Resolves after the attempt. A peer with a wrong key keeps its pause. */
  async retry(): Promise<void> {
    const { primary, hasFallback } = this.#roles
    const mayDial = primary === 'dialer' || hasFallback
    if (mayDial && !this.#isDraining && this.#failure !== 'pin_mismatch') await this.#attempt()
  }

  /** Cuts all connections: the link was removed or revoked. */
  close(): void {
    this.#isClosed = true
    void this.#stopTrim()
    this.#cancelAll()
    void this.#cancelDead()
    this.#dialer.close()
    this.#control?.close()
    this.#control = null
    this.#pool.close()
    for (const connection of [...this.#data]) connection.destroy()
  }

  /** Says why the port of this end is not open; null: it is. */
  setListenProblem(problem: string | null): void {
    if (problem === this.#listenProblem) return
    this.#listenProblem = problem
    if (this.#control || this.#roles.primary !== 'listener') return
    if (problem !== null) this.#setState('down', problem)
    else this.#begin()
  }

  /** Takes a link connection that the peer has dialed, or returns the reason of a refusal. */
  accept({ kind }: Hello, connection: LinkConnection): string | null {
    if (this.listenPort === null) return 'no_listener'
    if (kind === 'data') {
      if (this.#control?.connection.role !== 'listener') return 'no_control'
      connection.send(frameType.hello, null, flag.answer)
      this.#addData(connection)
      return null
    }
    if (this.#control?.connection.role === 'dialer' && this.#roles.primary === 'dialer') return 'duplicate'
    connection.send(frameType.hello, null, flag.answer)
    this.#controlUp(connection)
    return null
  }

  /**
   * Requests a target from the far client, within `budgetMs` and a round trip of this link; 4 s if it is longer. The signal
   * ends the request: 'canceled'.
   */
  async open(open: Open, { owner, flags, signal }: OpenOptions): Promise<NearTarget | Refusal> {
    const outcome = await this.#request(open, { owner, flags, signal })
    this.#countOpen('reason' in outcome ? outcome.reason : 'opened')
    return outcome
  }

  /** Peers choose the reasons of refusals, so beyond 31 results further ones count together. */
  readonly #countOpen = (result: string): void =>
    increment(this.opens, this.opens.has(result) || this.opens.size < maxResults ? result : 'other')

  /** Takes a link connection back after its client connection has ended. */
  giveBack(connection: LinkConnection, isReusable: boolean): void {
    if (isReusable) this.#pool.giveBack(connection)
    else this.#pool.fill()
    this.#noteIdle()
  }

  /** Makes a new link connection that is not in the pool; null: there was none in time. */
  async makeFresh(signal: AbortSignal): Promise<LinkConnection | null> {
    if (!this.#control) return null
    const { promise, resolve } = Promise.withResolvers<LinkConnection | null>()
    const abort = (): void => {
      this.#fresh = this.#fresh.filter(one => one !== resolve)
      resolve(null)
    }
    this.#fresh.push(resolve)
    signal.addEventListener('abort', abort, { once: true })
    this.#dialData(1)
    return promise
  }

  async #request(open: Open, { owner, flags, signal }: OpenOptions): Promise<NearTarget | Refusal> {
    const { clock } = this.#options.host
    const untilMs = clock.monotonic() + open.budgetMs // this link's own round trip not included
    for (let attempt = 0; attempt < 2; attempt++) {
      const connection = await this.#pool.take(owner, signal)
      if (typeof connection === 'string') return { reason: connection, isRefusal: connection === 'link_down' }
      const answerMs = Math.max(0, Math.min(budgetMs, Math.round(untilMs - clock.monotonic())))
      const payload = encodeOpen({ ...open, budgetMs: answerMs })
      this.#opening.add(connection)
      const outcome = await requestOpen(connection, {
        payload,
        flags,
        timeoutMs: answerMs + this.rttMs,
        clock,
        signal
      })
      this.#opening.delete(connection)
      if (outcome === 'lost') continue // a ready one can have ended at the peer
      if ('opened' in outcome) return { connection, opened: outcome.opened }
      this.#pool.giveBack(connection)
      return outcome.refused
    }
    return { reason: 'link_down', isRefusal: true }
  }

  /** Starts the attempts that the direction allows. */
  #begin(): void {
    if (this.#isClosed || this.#isDraining) return
    this.#cancelAll()
    const { primary, hasFallback } = this.#roles
    const { clock } = this.#options.host
    if (primary === null) {
      this.#setState('down', 'no_endpoint')
      return
    }
    if (primary === 'dialer' || (hasFallback && this.#lastRole === 'dialer')) this.#attemptIn(0)
    this.#cancelLate = clock.after(lateMs, () => {
      this.#setState('down', this.#failure ?? this.#listenProblem ?? 'unreachable')
      if (primary === 'listener' && hasFallback) this.#attemptIn(0)
    })
  }

  #attemptIn(ms: number): void {
    void this.#cancelAttempt()
    if (this.#isDialing) return
    this.#cancelAttempt = this.#options.host.clock.after(ms, () => void this.#attempt())
  }

  async #attempt(): Promise<void> {
    if (this.#isClosed || this.#control !== null || this.#isDialing) return
    this.#isDialing = true
    const outcome = await this.#dialer.dialControl().finally(() => {
      this.#isDialing = false
    })
    if (!('failure' in outcome)) this.#dialed(outcome)
    else if (!this.#control) this.#attemptFailed(outcome)
  }

  /** Both ends keep the control connection of the first direction, if there are two. */
  #dialed(connection: LinkConnection): void {
    const isSecond = this.#control !== null && this.#roles.primary !== 'dialer'
    if (this.#isClosed || isSecond) connection.close()
    else this.#controlUp(connection)
  }

  #attemptFailed(outcome: LinkFailure): void {
    increment(this.handshakes, 'failed')
    const reason = this.#noteFailure(outcome)
    this.#failure = reason
    this.#failures += 1
    const mayBeEarly = this.#isNew && !localFailures.includes(outcome.failure)
    if (this.#state === 'down' || (this.#roles.primary === 'dialer' && !mayBeEarly))
      this.#setState('down', reason)
    const { random } = this.#options.host
    const isWrongPin = reason === 'pin_mismatch' && !mayBeEarly
    const withinMs = Math.min(backOffMs.most, backOffMs.least * 2 ** (this.#failures - 1))
    const { least, most } = wrongPinMs
    this.#attemptIn(isWrongPin ? least + random() * (most - least) : random() * withinMs)
  }

  /** True while the peer may not have its end of the link yet: its refusals do not count, and requests wait. */
  get #isNew(): boolean {
    return this.#state === 'connecting' && this.#options.host.clock.monotonic() - this.#sinceMs < newMs
  }

  /** Logs what the peer did, and returns the reason for the state. */
  #noteFailure(outcome: LinkFailure): string {
    const { events } = this.#options.host
    const { peer_id: peer, peer_name: name, peer_pins: pins } = this.#config
    if (outcome.failure === 'pin_mismatch') {
      const fields = { peer, expected: pins.join(' '), got: outcome.got }
      events.write('link.pin_mismatch', peer, {
        message: `${name} has another certificate than the server says`,
        fields
      })
    }
    if (outcome.failure !== 'peer_refused') return outcome.failure === 'cut' ? 'unreachable' : outcome.failure
    const { reason } = outcome
    events.write('link.peer_refused', peer, {
      message: `${name} refuses the link: ${reason}`,
      fields: { peer, reason }
    })
    return reason === 'pin_mismatch' ? reason : 'refused'
  }

  #controlUp(connection: LinkConnection): void {
    const { clock } = this.#options.host
    this.#control?.close()
    this.#cancelAll()
    void this.#cancelDead()
    increment(this.handshakes, 'full')
    this.#lastRole = connection.role
    this.#failures = 0
    this.#failure = null
    const control = new ControlConnection({
      connection,
      side: this.#config.side,
      meter: this.meter,
      clock,
      dial: count => this.#dialData(count),
      ended: reason => {
        if (this.#control === control) this.#controlEnded(reason)
      }
    })
    this.#control = control
    this.#setState('up', null)
    if (this.#config.side === 'near') this.#pool.open()
  }

  /**
   * Live connections wait for the path. Requests and ready link connections do not, but after a change of the direction
   * (null) requests wait for the new path.
   */
  #controlEnded(reason: string | null): void {
    const { clock } = this.#options.host
    this.#control?.close()
    this.#control = null
    for (const connection of [...this.#opening]) connection.destroy()
    const live = [...this.#data]
    void this.#cancelDead()
    this.#cancelDead = clock.after(this.#config.dead_secs * 1000, () => {
      for (const connection of live) connection.destroy()
    })
    this.#dialer.close()
    this.#dialer = this.#newDialer()
    if (reason === null) this.#pool.reconnect()
    this.#setState(reason === null ? 'connecting' : 'down', reason)
    this.#begin()
  }

  #newDialer(): LinkDialer {
    return new LinkDialer({
      host: this.#options.host,
      config: () => this.#config,
      failed: error => this.protocolFailed(error)
    })
  }

  /** Logs that the peer does not speak the protocol. */
  protocolFailed({ message: error }: ProtocolError): void {
    const { peer_id: peer, peer_name: name } = this.#config
    this.#options.host.events.write('link.protocol', peer, {
      message: `${name} broke the protocol of links: ${error}`,
      fields: { peer, error }
    })
  }

  /** Makes link connections: as dialer by itself, else the far client is asked. */
  #dialData(count: number): void {
    const control = this.#control
    if (!control) return
    if (control.connection.role === 'dialer')
      for (let at = 0; at < Math.min(count, maxDials); at++)
        void this.#dialOne(control.connection.remoteAddress)
    else if (this.#config.side === 'near') control.request(Math.min(count, maxDials))
  }

  async #dialOne(address: string): Promise<void> {
    const outcome = await this.#dialer.dialData(address)
    if (!('failure' in outcome)) return this.#addData(outcome)
    increment(this.handshakes, 'failed')
    this.#pool.failed()
  }

  #addData(connection: LinkConnection): void {
    increment(this.handshakes, 'full')
    if (this.#isClosed || connection.isClosed) {
      connection.close()
      return
    }
    this.#data.add(connection)
    connection.onClosed(() => {
      this.#data.delete(connection)
      this.#pool.remove(connection)
      this.#noteIdle()
    })
    if (this.#config.side === 'far') {
      this.#far.serve(connection)
      return
    }
    connection.use(null)
    const fresh = this.#fresh.shift()
    if (fresh) fresh(connection)
    else this.#pool.add(connection)
  }

  #noteIdle(): void {
    if (this.openCount === 0) for (const resolve of this.#awaitingIdle.splice(0)) resolve()
  }

  get #openMs(): number {
    const handshakeMs = this.#control?.connection.handshakeMs ?? defaultOpenMs
    return handshakeMs + this.rttMs
  }

  #setState(state: LinkState, reason: string | null): void {
    if (state === this.#state && reason === this.#reason) return
    const { clock, events, clientId: client } = this.#options.host
    const { peer_id: peer, peer_name: name } = this.#config
    const secs = Math.round((clock.monotonic() - this.#sinceMs) / 1000)
    if (state === 'down') this.#pool.close()
    if (state === 'up')
      events.write('link.up', peer, { message: `the link with ${name} is up`, fields: { client, peer } })
    else if (state === 'down')
      events.write('link.down', peer, {
        message: `the link with ${name} is down: ${reason}`,
        fields: { client, peer, reason, secs }
      })
    if (state !== this.#state) this.#sinceMs = clock.monotonic()
    this.#state = state
    this.#reason = reason
    this.#options.changed(this)
  }

  #cancelAll(): void {
    void this.#cancelAttempt()
    void this.#cancelLate()
  }
}

const maxDials = 128
