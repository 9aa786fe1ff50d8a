// One direction of a relayed connection. It reads only what meters and destination allow.
import type { Socket } from 'node:net'
import type { Admission } from '../meters/meter-chain.ts'
import type { Direction } from '../meters/waiter.ts'

/** The source is not read while more than this is unsent. Node reads ahead, so a direction buffers up to twice this. */
const maxBufferedBytes = 128 * 1024
const maxReadBytes = 64 * 1024

/** Admits bytes, and counts them when the kernel has accepted them. */
export type Metering = Pick<Admission, 'reserve' | 'delivered' | 'release'>

export class Pump {
  isWaiting = false // for a meter, not for a socket
  readonly #from: Socket
  readonly #to: Socket
  readonly #direction: Direction
  readonly #metering: Metering
  #inFlightBytes = 0
  #onFlushed: (() => void) | null = null

  constructor(from: Socket, to: Socket, direction: Direction, metering: Metering) {
    this.#from = from
    this.#to = to
    this.#direction = direction
    this.#metering = metering
    from.on('readable', () => this.run())
    if (from.readableEnded) to.end()
    else from.once('end', () => to.end())
    this.run()
  }

  run(): void {
    const from = this.#from
    const to = this.#to
    this.isWaiting = false
    while (from.readableLength > 0 && to.writableLength <= maxBufferedBytes && !to.destroyed) {
      const bytes = this.#metering.reserve(this.#direction, Math.min(from.readableLength, maxReadBytes))
      this.isWaiting = bytes === 0
      if (this.isWaiting) return
      this.#inFlightBytes += bytes
      to.write(from.read(bytes), error => this.#written(bytes, error))
    }
    if (from.readableLength > 0) return
    from.read(0) // on an empty buffer: asks the kernel for more, or emits 'end'
    if (this.#inFlightBytes === 0) this.#onFlushed?.()
  }

  /** Calls `onFlushed` once all received bytes are written. */
  whenFlushed(onFlushed: () => void): void {
    this.#onFlushed = onFlushed
    this.run()
  }

  #written(bytes: number, error: Error | null | undefined): void {
    this.#inFlightBytes -= bytes
    if (error) this.#metering.release(this.#direction, bytes)
    else this.#metering.delivered(this.#direction, bytes)
    this.run()
  }
}
