// Records of ended connections and flows, for the rules that ask for them.
import { systemClock } from '../../kernel/base/clock.ts'
import type { ConnectionEnd, EndedConnection, SocketAddress } from '../ended-connection.ts'
import type { EngineEvent } from '../engine.ts'
import { canonicalAddress } from '../net/address.ts'
import type { Direction } from './meters/waiter.ts'

/** A record waits this long for others, so that a batch has more than one. */
const delayMs = 100

/** Sends records in batches. None is lost here: they are made on the thread that takes them. */
export class EndedConnections {
  readonly #emit: (event: EngineEvent) => void
  #batch: EndedConnection[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit
  }

  add(ended: EndedConnection): void {
    this.#batch.push(ended)
    this.#timer ??= setTimeout(() => this.flush(), delayMs)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const ended = this.#batch
    if (ended.length === 0) return
    this.#batch = []
    this.#emit({ kind: 'connections-ended', ended, lost: 0 })
  }
}

/** What the record of one connection or flow will say. */
export class EndRecord {
  readonly #ruleId: number
  readonly #source: SocketAddress
  readonly #openedAt = performance.now()
  #listen: SocketAddress
  #target: EndedConnection['target'] = null
  #bytes = { in: 0, out: 0 }
  #closed: ConnectionEnd | null = null
  #cause: Pick<EndedConnection, 'end' | 'refusal'> | null = null

  constructor(ruleId: number, source: SocketAddress, listen: SocketAddress) {
    this.#ruleId = ruleId
    this.#source = canonical(source)
    this.#listen = canonical(listen)
  }

  arrivedAt(listen: SocketAddress): void {
    this.#listen = canonical(listen)
  }

  connected(index: number, { address, port }: SocketAddress): void {
    this.#target = { index, address, port }
  }

  delivered(direction: Direction, bytes: number): void {
    this.#bytes[direction] += bytes
  }

  /** Notes an end in order; the first one counts. */
  closedBy(end: 'caller_closed' | 'target_closed'): void {
    this.#closed ??= end
  }

  /** Notes any other cause; the first one counts, and more than an end in order. */
  because(end: ConnectionEnd, refusal: string | null = null): void {
    this.#cause ??= { end, refusal }
  }

  /** Called when nothing is counted any more. */
  finish(): EndedConnection {
    const durationMs = performance.now() - this.#openedAt
    return {
      ruleId: this.#ruleId,
      source: this.#source,
      listen: this.#listen,
      target: this.#target,
      openedAt: Math.floor(systemClock.now() - durationMs),
      durationMs: Math.floor(durationMs),
      bytesIn: this.#bytes.in,
      bytesOut: this.#bytes.out,
      ...(this.#cause ?? { end: this.#closed ?? 'caller_closed', refusal: null })
    }
  }
}

const canonical = ({ address, port }: SocketAddress): SocketAddress => ({
  address: canonicalAddress(address),
  port
})
