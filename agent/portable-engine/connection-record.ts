// The record of one connection or flow, for queries of open connections and for the report of its end.
import { systemClock } from '../../kernel/base/clock.ts'
import type { ConnectionEnd, EndedConnection, SocketAddress } from '../engine/ended-connection.ts'
import { canonicalAddress } from '../net/address.ts'
import type { Direction } from './meters/waiter.ts'

let lastId = 0

/** The addresses and delivered bytes of a connection or flow. */
export class ConnectionRecord {
  readonly id = ++lastId
  readonly ruleId: number
  readonly source: SocketAddress
  readonly serverName: string | null
  readonly openedAt = performance.now()
  readonly bytes = { in: 0, out: 0 }
  activeAt = this.openedAt // time of the last delivered byte
  divert: string | null = null // name, once the caller is admitted
  #listen: SocketAddress
  #target: EndedConnection['target'] = null
  #closed: ConnectionEnd | null = null
  #cause: Pick<EndedConnection, 'end' | 'refusal'> | null = null

  constructor(ruleId: number, source: SocketAddress, listen: SocketAddress, serverName = '') {
    this.ruleId = ruleId
    this.serverName = serverName || null
    this.source = canonical(source)
    this.#listen = canonical(listen)
  }

  get listen(): SocketAddress {
    return this.#listen
  }

  get target(): EndedConnection['target'] {
    return this.#target
  }

  arrivedAt(listen: SocketAddress): void {
    this.#listen = canonical(listen)
  }

  connected(index: number, { address, port }: SocketAddress): void {
    this.#target = { index, address, port }
  }

  delivered(direction: Direction, bytes: number): void {
    this.bytes[direction] += bytes
    this.activeAt = performance.now()
  }

  /** Records an orderly end. The first one counts. */
  closedBy(end: 'caller_closed' | 'target_closed'): void {
    this.#closed ??= end
  }

  /** Records any other cause. The first one counts, and takes precedence over an orderly end. */
  because(end: ConnectionEnd, refusal: string | null = null): void {
    this.#cause ??= { end, refusal }
  }

  /** Called when counting has ended. */
  finish(): EndedConnection {
    const durationMs = performance.now() - this.openedAt
    return {
      ruleId: this.ruleId,
      source: this.source,
      listen: this.#listen,
      target: this.#target,
      serverName: this.serverName,
      divert: this.divert,
      openedAt: Math.floor(systemClock.now() - durationMs),
      durationMs: Math.floor(durationMs),
      bytesIn: this.bytes.in,
      bytesOut: this.bytes.out,
      ...(this.#cause ?? { end: this.#closed ?? 'caller_closed', refusal: null })
    }
  }
}

const canonical = ({ address, port }: SocketAddress): SocketAddress => ({
  address: canonicalAddress(address),
  port
})
