// The far side of a link: it answers the requests of the near client and carries their connections.
import type { Socket } from 'node:net'
import type { Clock } from '../../../kernel/base/clock.ts'
import { type ByteCounts, FarCarrier } from './carrier.ts'
import { Relay, type RelaySide } from './relay.ts'
import type { Refusal } from './request-open.ts'
import { TestStream } from './test-stream.ts'
import {
  decodeOpen,
  decodeTest,
  encodeOpened,
  encodeReason,
  type Open,
  type Opened
} from './transport/frame-bodies.ts'
import { type Frame, flag, frameType, ProtocolError } from './transport/frames.ts'
import type { LinkConnection } from './transport/link-connection.ts'
import { resetSocket } from './transport/reset-socket.ts'

const maxRequests = 1_024 // unanswered, of a link
const spareIdle = 128 // link connections that the near client may have under way beyond its ready ones
const budgetMs = 4_000

/** A target that was dialed, or the next client of the path that has dialed it. */
export type ExitTarget =
  | { readonly socket: Socket; readonly opened: Opened }
  | { readonly next: RelaySide; readonly opened: Opened; readonly giveBack: (isReusable: boolean) => void }

/** A carrier of a client connection. It can be reset from outside. */
export interface Live {
  reset(): void
}

/** Admits and dials what the near client asks for. */
export interface Exits {
  dial(open: Open, peerId: string, isProbe: boolean, signal: AbortSignal): Promise<ExitTarget | Refusal>
  /** A connection of the rule is live until the release. */
  track(ruleId: string, live: Live): () => void
}

interface Options {
  readonly peerId: string
  readonly maxIdle: () => number
  readonly exits: Exits
  readonly counts: ByteCounts
  readonly count: (result: string) => void
  readonly ended: () => void // a client connection has ended
  readonly clock: Clock
}

export class FarRequests {
  readonly #options: Options
  readonly #idle = new Set<LinkConnection>() // the oldest first
  #requests = 0
  #isTesting = false

  constructor(options: Options) {
    this.#options = options
  }

  get idle(): number {
    return this.#idle.size
  }

  /** Waits for requests on a link connection. */
  serve(connection: LinkConnection): void {
    if (connection.isClosed) return
    this.#idle.add(connection)
    const [oldest] = this.#idle
    if (this.#idle.size > this.#options.maxIdle() + spareIdle) oldest?.close()
    connection.use({
      received: frame => this.#open(frame, connection),
      closed: () => this.#idle.delete(connection)
    })
  }

  #open({ type, flags, number, payload }: Frame, connection: LinkConnection): void {
    if (type !== frameType.open || number !== connection.number + 1)
      throw new ProtocolError(`frame type ${type} of ${number} on an idle link connection`)
    this.#idle.delete(connection)
    connection.number = number
    if (flags === flag.test) this.#test(connection, decodeTest(payload))
    else void this.#answer(connection, decodeOpen(payload), flags === flag.probe)
  }

  async #answer(connection: LinkConnection, open: Open, isProbe: boolean): Promise<void> {
    const target = await this.#dial(connection, open, isProbe)
    if ('reason' in target) {
      this.#options.count(target.reason)
      if (!connection.isClosed) this.#refuse(connection, target)
      return
    }
    this.#options.count('opened')
    if (connection.isClosed || isProbe) discard(target, isProbe)
    if (connection.isClosed) return
    connection.send(frameType.opened, encodeOpened(target.opened))
    if (isProbe) this.serve(connection)
    else this.#carry(connection, target, open.ruleId)
  }

  async #dial(connection: LinkConnection, open: Open, isProbe: boolean): Promise<ExitTarget | Refusal> {
    const { exits, peerId, clock } = this.#options
    if (this.#requests >= maxRequests) return { reason: 'link_exhausted', isRefusal: true }
    const gone = new AbortController()
    const cancel = clock.after(Math.min(budgetMs, open.budgetMs), () => gone.abort())
    connection.use({
      received: ({ type, number }) => {
        if (type !== frameType.reset || number !== connection.number)
          throw new ProtocolError(`frame type ${type} before the answer`)
        connection.close()
      },
      closed: () => gone.abort()
    })
    this.#requests += 1
    try {
      return await exits.dial(open, peerId, isProbe, gone.signal)
    } finally {
      this.#requests -= 1
      void cancel()
    }
  }

  #refuse(connection: LinkConnection, { reason, isRefusal }: Refusal): void {
    connection.send(frameType.refused, encodeReason(reason), isRefusal ? flag.refusal : 0)
    this.serve(connection)
  }

  #carry(connection: LinkConnection, target: ExitTarget, ruleId: string): void {
    const { exits, counts, clock } = this.#options
    let untrack = (): void => {}
    const done = (isReusable: boolean): void => {
      if (!('socket' in target)) target.giveBack(isReusable)
      untrack()
      if (isReusable) this.serve(connection)
      this.#options.ended()
    }
    const live =
      'socket' in target
        ? new FarCarrier({
            connection,
            stream: target.socket,
            resetStream: () => resetSocket(target.socket),
            counts,
            clock,
            rttMs: () => 0,
            done
          })
        : new Relay({ near: { connection, counts }, far: target.next, done })
    untrack = exits.track(ruleId, live)
    live.start()
  }

  #test(connection: LinkConnection, { bytes, ms }: { readonly bytes: number; readonly ms: number }): void {
    const { clock } = this.#options
    if (this.#isTesting) {
      this.#refuse(connection, { reason: 'rate_limited', isRefusal: true })
      return
    }
    this.#isTesting = true
    const stream = new TestStream({ bytes, ms, clock, begins: 'after end' })
    connection.send(frameType.opened, encodeOpened({ address: '0.0.0.0', port: 0, dnsMs: 0, connectMs: 0 }))
    const carrier = new FarCarrier({
      connection,
      stream,
      resetStream: () => void stream.destroy(),
      counts: { up: 0, down: 0 },
      clock,
      rttMs: () => 0,
      done: isReusable => {
        this.#isTesting = false
        if (isReusable) this.serve(connection)
      }
    })
    carrier.start()
  }
}

/** Closes what nobody waits for. A probe leaves the link connection of the next client ready. */
function discard(target: ExitTarget, isProbe: boolean): void {
  if ('socket' in target) target.socket.destroy()
  else {
    if (!isProbe) target.next.connection.close()
    target.giveBack(isProbe)
  }
}
