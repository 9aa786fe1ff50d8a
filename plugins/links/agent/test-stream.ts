import { Duplex } from 'node:stream'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Release } from '../../../kernel/base/releases.ts'

const chunk = Buffer.alloc(16 * 1024, 0x5a)
const maxBytes = 64 * 1024 * 1024
const maxMs = 10_000

interface Options {
  readonly bytes: number // to send
  readonly ms: number // at most, from the first byte on
  readonly clock: Clock
  readonly begins: 'now' | 'after end' // of the other direction
}

/** One end of a measurement: it sends bytes, and counts and drops those that it receives. */
export class TestStream extends Duplex {
  readonly #clock: Clock
  readonly #ms: number
  #left: number
  #mayRead = false
  #until = Number.POSITIVE_INFINITY
  #cancel: Release = () => {}
  received = 0
  sent = 0
  firstAt: number | null = null // of the received bytes, monotonic
  lastAt = 0

  constructor({ bytes, ms, clock, begins }: Options) {
    super({ allowHalfOpen: true, highWaterMark: chunk.length })
    this.#clock = clock
    this.#ms = Math.min(maxMs, ms)
    this.#left = Math.min(maxBytes, bytes)
    this.#cancel = clock.after(2 * maxMs, () => this.destroy()) // a peer that does not read
    if (begins === 'now') this.#begin()
  }

  override _read(): void {
    if (!this.#mayRead) return
    const bytes = this.#clock.monotonic() >= this.#until ? 0 : Math.min(this.#left, chunk.length)
    this.#left -= bytes
    this.sent += bytes
    this.push(bytes === 0 ? null : chunk.subarray(0, bytes))
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.received += bytes.length
    this.lastAt = this.#clock.monotonic()
    this.firstAt ??= this.lastAt
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#mayRead) this.#begin()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    void this.#cancel()
    done(error)
  }

  #begin(): void {
    this.#mayRead = true
    this.#until = this.#clock.monotonic() + this.#ms
    this._read()
  }
}
