// One direction of a relayed connection. It reads only what meters and destination allow.
import type { Admission } from '../meters/meter-chain.ts'
import type { Direction } from '../meters/waiter.ts'
import type { TargetSocket } from './connect-target.ts'

/** The source is not read while more than this is unsent. Node reads ahead, so a direction buffers up to twice this. */
const maxBufferedBytes = 128 * 1024
const maxReadBytes = 64 * 1024

/** Admits bytes, and counts them when the kernel has accepted them. */
export type Metering = Pick<Admission, 'reserve' | 'delivered' | 'release'>

export interface Ends {
  readonly from: TargetSocket
  readonly to: TargetSocket
  readonly early: Buffer | null // bytes that precede those of `from`
}

export class Pump {
  isWaiting = false // for a meter, not for a socket
  readonly #from: TargetSocket
  readonly #to: TargetSocket
  readonly #direction: Direction
  readonly #metering: Metering
  readonly #ahead: Buffer[] // read, and not written yet
  #isReadingAhead = false
  #inFlightBytes = 0
  #onFlushed: (() => void) | null = null

  constructor({ from, to, early }: Ends, direction: Direction, metering: Metering) {
    this.#from = from
    this.#to = to
    this.#ahead = early?.length ? [early] : []
    this.#direction = direction
    this.#metering = metering
    from.on('readable', () => this.run())
    from.once('end', () => this.run())
    this.run()
  }

  run(): void {
    const from = this.#from
    const to = this.#to
    this.isWaiting = false
    if (this.#isReadingAhead) this.#readAll()
    while (this.#nextBytes > 0 && to.writableLength <= maxBufferedBytes && !to.destroyed) {
      const bytes = this.#metering.reserve(this.#direction, Math.min(this.#nextBytes, maxReadBytes))
      this.isWaiting = bytes === 0
      if (this.isWaiting) return
      this.#inFlightBytes += bytes
      to.write(this.#take(bytes), error => this.#written(bytes, error))
    }
    if (this.#nextBytes > 0) return
    if (!from.readableEnded)
      from.read(0) // on an empty buffer: asks the kernel for more, or emits 'end'
    else if (!to.writableEnded) to.end()
    if (this.#inFlightBytes === 0) this.#onFlushed?.()
  }

  /**
   * Reads all bytes of a source that the kernel has ended, so that Node reports its end or error. No more can come: they
   * fit in the socket's receive buffer.
   */
  readAhead(): void {
    this.#isReadingAhead = true
    this.run()
  }

  /** Calls `onFlushed` once all received bytes are written. */
  whenFlushed(onFlushed: () => void): void {
    this.#onFlushed = onFlushed
    this.run()
  }

  get #nextBytes(): number {
    return this.#ahead[0]?.length ?? this.#from.readableLength
  }

  #take(bytes: number): Buffer {
    const first = this.#ahead.shift()
    if (!first) return this.#from.read(bytes)
    if (bytes < first.length) this.#ahead.unshift(first.subarray(bytes))
    return first.subarray(0, bytes)
  }

  #readAll(): void {
    for (let chunk = this.#from.read(); chunk !== null; chunk = this.#from.read()) this.#ahead.push(chunk)
  }

  #written(bytes: number, error: Error | null | undefined): void {
    this.#inFlightBytes -= bytes
    if (error) this.#metering.release(this.#direction, bytes)
    else this.#metering.delivered(this.#direction, bytes)
    this.run()
  }
}
