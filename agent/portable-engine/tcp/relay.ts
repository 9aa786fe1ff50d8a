// Connects two sockets: bytes, FIN and RST are passed on, each direction on its own.
import type { Direction } from '../meters/waiter.ts'
import type { RuleState } from '../rule-state.ts'
import { type Ends, type Metering, Pump } from './pump.ts'
import { resetSocket } from './reset-socket.ts'
import { PairedStream } from './stream-pair.ts'
import { whenAcknowledged } from './when-acknowledged.ts'

/** After one side fails, its bytes are still flushed to the other side, unless none is accepted for this long. */
const flushMs = 5_000

export class Relay {
  readonly #ends: Readonly<Record<Direction, Ends>>
  readonly #pumps: Readonly<Record<Direction, Pump>>
  readonly #descriptors: RuleState['descriptors']

  constructor(ends: Record<Direction, Ends>, metering: Metering, descriptors: RuleState['descriptors']) {
    this.#ends = ends
    this.#descriptors = descriptors
    this.#pumps = { in: new Pump(ends.in, 'in', metering), out: new Pump(ends.out, 'out', metering) }
    this.#passError('in')
    this.#passError('out')
  }

  /** True when one of the directions waits for a meter. */
  get isWaiting(): boolean {
    return this.#pumps.in.isWaiting || this.#pumps.out.isWaiting
  }

  resume(direction: Direction): void {
    this.#pumps[direction].run()
  }

  /** Called if the kernel has ended the direction's source. Returns true if its end was read before: it has failed. */
  sourceEnded(direction: Direction): boolean {
    const { from } = this.#ends[direction]
    if (!from.readableEnded) this.#pumps[direction].readAhead()
    return from.readableEnded && !from.writableEnded
  }

  /** Ends both sides as after an error on the direction's source. */
  fail(direction: Direction): void {
    const { from, to } = this.#ends[direction]
    to.once('close', () => resetSocket(from))
    this.#sourceFailed(direction)
    if (to.destroyed) resetSocket(from)
  }

  #passError(direction: Direction): void {
    const { from } = this.#ends[direction]
    if (from.errored) this.#sourceFailed(direction)
    else from.once('error', () => this.#sourceFailed(direction))
  }

  /** Resets the destination when it has all bytes that were received from the source. */
  #sourceFailed(direction: Direction): void {
    const { to } = this.#ends[direction]
    if (to.destroyed) return
    let written = to.bytesWritten - to.writableLength
    const limit = setInterval(() => {
      const before = written
      written = to.bytesWritten - to.writableLength
      if (written === before) resetSocket(to)
    }, flushMs)
    to.once('close', () => clearInterval(limit))
    this.#pumps[direction].whenFlushed(() => {
      clearInterval(limit)
      if (to instanceof PairedStream || !this.#descriptors.arePlenty) resetSocket(to)
      else whenAcknowledged(to, flushMs, () => resetSocket(to))
    })
  }
}
