// The links of an agent: one end of each, the ports on which they listen, and the parts of rules that lead through here.

import type { Duplex } from 'node:stream'
import type { AgentDial, DialTiming } from '../../../agent/plugin.ts'
import type { Link } from '../wire.ts'
import { NearCarrier } from './carrier.ts'
import { ExitParts } from './exit-parts.ts'
import { AgentLink } from './link.ts'
import type { LinkHost } from './link-host.ts'
import { type Measured, measureLink } from './measure-link.ts'
import type { Refusal } from './request-open.ts'
import type { Hello } from './transport/frame-bodies.ts'
import { flag } from './transport/frames.ts'
import type { LinkConnection } from './transport/link-connection.ts'
import { LinkListener } from './transport/link-listener.ts'

const budgetMs = 7_000 // for the wait for a link connection, and the answer

interface Options {
  readonly host: LinkHost
  readonly dial: AgentDial
  readonly allows: (entryId: string, entryName: string) => boolean
  readonly reserve: (owner: string) => (() => void) | null
  /** Called when the state of a link changes. */
  readonly changed: () => void
}

/** A target of a rule, and the client through which it is reached. */
export interface PathTarget {
  readonly owner: string // of the rule
  readonly ruleId: string
  readonly key: number // of the target
  readonly offset: number // in its range of ports
  readonly next: string // client id
  readonly isProbe: boolean
  readonly signal: AbortSignal
}

/** A target that the exit has dialed. Call one of the functions, once. */
export interface PathConnection {
  readonly address: string
  readonly port: number
  readonly timing: DialTiming
  carry(stream: Duplex): void
  cancel(): void
}

interface Carried {
  readonly link: AgentLink
  readonly connection: LinkConnection
  readonly ended: (isReusable: boolean) => void
}

export class Links {
  readonly exits: ExitParts
  readonly #options: Options
  readonly #links = new Map<string, AgentLink>() // by id
  readonly #near = new Map<string, AgentLink>() // links with this near client, by peer
  readonly #listeners = new Map<number, LinkListener>() // by port
  readonly #draining = new Set<AgentLink>() // removed, with live connections
  readonly #suspended = new Map<string, Link>() // their lease is over

  constructor(options: Options) {
    this.#options = options
    const { dial, allows, reserve, host } = options
    this.exits = new ExitParts({
      clock: host.clock,
      dial,
      allows,
      reserve,
      loopPorts: () => [...this.#listeners.keys()],
      linkTo: peer => this.#linkTo(peer)
    })
  }

  get all(): readonly AgentLink[] {
    return [...this.#links.values()]
  }

  set(config: Link): void {
    this.#suspended.delete(config.id)
    const link = this.#links.get(config.id)
    if (link && link.config.peer_id === config.peer_id && link.config.side === config.side)
      link.update(config)
    else {
      link?.close()
      const { host, changed } = this.#options
      this.#links.set(config.id, new AgentLink(config, { host, exits: this.exits, changed }))
    }
    this.#indexNear()
    this.#fitListeners()
  }

  /** Ends the link for new connections, and on 'cut' resets the others. Resolves when the last one has ended. */
  async remove(id: string, removal: 'drain' | 'cut'): Promise<void> {
    this.#suspended.delete(id)
    const link = this.#links.get(id)
    this.#links.delete(id)
    this.#indexNear()
    if (removal === 'cut') for (const one of this.#draining) if (one.config.id === id) one.close()
    if (link && removal === 'cut') link.close()
    else if (link) this.#draining.add(link)
    this.#fitListeners()
    if (!link || removal === 'cut') return
    await link.drain()
    this.#draining.delete(link)
  }

  /** Resolves when no link connection carries a client connection. */
  async drained(): Promise<void> {
    await Promise.all(this.all.map(link => link.idle()))
  }

  /** Closes the links that `isOver`; `resume` opens them again. */
  suspend(isOver: (config: Link) => boolean): void {
    for (const { config } of this.all)
      if (isOver(config)) {
        void this.remove(config.id, 'cut')
        this.#suspended.set(config.id, config)
      }
  }

  resume(): void {
    for (const config of [...this.#suspended.values()]) this.set(config)
  }

  /** Opens ports again that the guardrails have denied, and closes those that they deny now. */
  guardrailsChanged(): void {
    this.#fitListeners()
  }

  close(): void {
    for (const id of [...this.#links.keys()]) void this.remove(id, 'cut')
    for (const link of this.#draining) link.close()
  }

  /** Opens a target through the link to the next client. */
  async dial(asked: PathTarget): Promise<PathConnection | Refusal> {
    const link = this.#linkTo(asked.next)
    if (!link) return { reason: 'link_down', isRefusal: true }
    const { owner, ruleId, key, offset, isProbe, signal } = asked
    const release = this.#options.reserve(owner) // for the link connection
    if (!release) return { reason: 'descriptors', isRefusal: true }
    const flags = isProbe ? flag.probe : 0
    const { clock } = this.#options.host
    const begun = clock.monotonic()
    const outcome = await link.open({ ruleId, key, offset, budgetMs }, { owner, flags, signal })
    if ('reason' in outcome) {
      release()
      return outcome
    }
    const { connection, opened } = outcome
    const { address, port, dnsMs, connectMs } = opened
    const pathMs = Math.max(0, clock.monotonic() - begun - dnsMs - connectMs)
    const ended = (isReusable: boolean): void => {
      release()
      link.giveBack(connection, isReusable)
    }
    return {
      address,
      port,
      timing: { dnsMs, connectMs, pathMs },
      carry: stream => this.#carry(stream, { link, connection, ended }),
      cancel() {
        if (isProbe)
          connection.use(null) // both ends have it ready
        else connection.close()
        ended(isProbe)
      }
    }
  }

  /** Measures a link at its near client. */
  async test(id: string, bytes: number, ms: number): Promise<Measured> {
    const link = this.#links.get(id)
    if (link?.config.side !== 'near') return { error: 'unreachable' }
    return measureLink(link, { bytes, ms, clock: this.#options.host.clock })
  }

  #indexNear(): void {
    this.#near.clear()
    for (const link of this.#links.values())
      if (link.config.side === 'near') this.#near.set(link.config.peer_id, link)
  }

  #linkTo(peerId: string): AgentLink | undefined {
    return this.#near.get(peerId)
  }

  #carry(stream: Duplex, { link, connection, ended }: Carried): void {
    const carrier = new NearCarrier({
      connection,
      stream,
      resetStream: () => void stream.destroy(),
      counts: link.counts,
      clock: this.#options.host.clock,
      rttMs: () => link.rttMs,
      done: ended
    })
    carrier.start()
  }

  /** Opens the ports that links need, and closes the others. */
  #fitListeners(): void {
    const { mayListen } = this.#options.host
    const wanted = new Set(this.all.flatMap(({ listenPort }) => listenPort ?? []))
    for (const [port, listener] of this.#listeners)
      if (!wanted.has(port) || !mayListen(port)) {
        this.#listeners.delete(port)
        listener.close()
      }
    for (const port of wanted) if (!this.#listeners.has(port) && mayListen(port)) this.#listen(port)
    this.#noteProblems()
  }

  #listen(port: number): void {
    const { host } = this.#options
    const { bind, context, clock, log, events } = host
    const listener = new LinkListener({
      port,
      bind,
      context,
      clock,
      log,
      hasPin: pin => this.all.some(({ config }) => config.peer_pins.includes(pin)),
      accept: (hello, pin, connection) => this.#accept(hello, pin, port, connection),
      wrongPin: (address, got) =>
        events.write('link.pin_mismatch', 'strangers', {
          message: `${address} has a certificate of no peer`,
          fields: { peer: address, expected: '', got }
        }),
      failed: (pin, error) =>
        this.all.find(({ config }) => config.peer_pins.includes(pin))?.protocolFailed(error),
      changed: () => this.#noteProblems()
    })
    this.#listeners.set(port, listener)
    void listener.open()
  }

  /** The pin decides which links a peer may name. */
  #accept(hello: Hello, pin: string, port: number, connection: LinkConnection): string | null {
    const link = this.#links.get(hello.linkId)
    if (!link?.config.peer_pins.includes(pin) || link.listenPort !== port) return 'link_unknown'
    return link.accept(hello, connection)
  }

  /** Tells the links why their port is not open. */
  #noteProblems(): void {
    for (const link of this.all) {
      const { listenPort: port } = link
      const denied = port !== null && !this.#options.host.mayListen(port) ? 'denied_by_agent' : null
      link.setListenProblem(denied ?? (port === null ? null : (this.#listeners.get(port)?.problem ?? null)))
    }
  }
}
