// Dials the link connections of one link: the hosts of the peer in order, and a bounded number at once.
import type { Link } from '../../wire.ts'
import type { LinkHost } from '../link-host.ts'
import { dialLink, type LinkDialFailure } from './dial-link.ts'
import type { ConnectionKind } from './frame-bodies.ts'
import type { ProtocolError } from './frames.ts'
import type { LinkConnection } from './link-connection.ts'

const mostUnderWay = 128
const leastUnderWay = 8
const slowMs = 10_000
const maxAddresses = 8 // of a host

export type LinkFailure =
  | LinkDialFailure
  | { readonly failure: 'no_endpoint' | 'denied_by_agent' | 'peer_away' }

interface Options {
  readonly host: LinkHost
  readonly config: () => Link
  readonly failed: (error: ProtocolError) => void
}

export class LinkDialer {
  readonly #options: Options
  readonly #stopped = new AbortController()
  #limit = mostUnderWay
  #slowUntil = 0
  #underWay = 0
  #queued: (() => void)[] = []

  constructor(options: Options) {
    this.#options = options
  }

  close(): void {
    this.#stopped.abort()
    for (const next of this.#queued.splice(0)) next()
  }

  /** Tries the hosts of the peer in order. Returns the last failure. */
  async dialControl(): Promise<LinkConnection | LinkFailure> {
    const { peer_hosts: hosts, peer_port: port, peer_pins: pins } = this.#options.config()
    if (port === undefined || hosts.length === 0) return { failure: 'no_endpoint' }
    if (pins.length === 0) return { failure: 'peer_away' }
    let last: LinkFailure = { failure: 'unreachable' }
    for (const host of hosts)
      for (const address of (await this.#options.host.resolve(host)).slice(0, maxAddresses)) {
        if (this.#stopped.signal.aborted) return last
        const isAllowed = this.#options.host.mayDial(address, port, host)
        const outcome = isAllowed ? await this.#dial(address, 'control') : denied
        if (!('failure' in outcome)) return outcome
        last = outcome
      }
    return last
  }

  /** Dials a link connection to the address of the control connection. Waits while 128 are under way. */
  async dialData(address: string): Promise<LinkConnection | LinkFailure> {
    await this.#turn()
    try {
      if (this.#stopped.signal.aborted) return { failure: 'cut' }
      const outcome = await this.#dial(address, 'data')
      if ('failure' in outcome && outcome.failure === 'cut') this.#slowDown()
      return outcome
    } finally {
      this.#underWay -= 1
      this.#queued.shift()?.()
    }
  }

  #dial(address: string, kind: ConnectionKind): Promise<LinkConnection | LinkDialFailure> {
    const { host, config, failed } = this.#options
    const { id: linkId, peer_port: port = 0, peer_pins: pins } = config()
    const { clock } = host
    const { signal } = this.#stopped
    return dialLink({
      address,
      port,
      context: host.context(),
      pins,
      hello: { linkId, kind },
      clock,
      signal,
      failed
    })
  }

  async #turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#underWay < this.#mostNow) resolve()
    else this.#queued.push(resolve)
    await promise
    this.#underWay += 1
  }

  get #mostNow(): number {
    if (this.#slowUntil <= this.#options.host.clock.monotonic()) this.#limit = mostUnderWay
    return this.#limit
  }

  /** The listener has cut a handshake: it has too many. */
  #slowDown(): void {
    this.#limit = Math.max(leastUnderWay, Math.floor(this.#mostNow / 2))
    this.#slowUntil = this.#options.host.clock.monotonic() + slowMs
  }
}

const denied: LinkFailure = { failure: 'denied_by_agent' }
