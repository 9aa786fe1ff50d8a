// A connection within this process: what one end writes, the other one reads. It needs no descriptor, and unlike a Unix
// socket it passes on a reset.
import { Duplex } from 'node:stream'

type Done = (error?: Error | null) => void

/** Returns both ends of a new connection. */
export function openStreamPair(): readonly [PairedStream, PairedStream] {
  const one = new PairedStream()
  const other = new PairedStream()
  one.join(other)
  other.join(one)
  return [one, other]
}

/**
 * One end. Destroying it with an error, or before its end has finished, or while it has unread bytes, resets the other end:
 * that one is destroyed with ECONNRESET once its bytes are read, or at its next write.
 */
export class PairedStream extends Duplex {
  #other: PairedStream = this
  #writtenBytes = 0
  #written: Done | null = null // of a write that the other end has not taken
  #isReset = false // by the other end
  #onReset: () => void = () => {}

  constructor() {
    super({ allowHalfOpen: true })
    this.on('error', () => {}) // 'close' follows
  }

  join(other: PairedStream): void {
    this.#other = other
  }

  /** As of a Socket: the bytes that wait are included. */
  get bytesWritten(): number {
    return this.#writtenBytes + this.writableLength
  }

  /** Calls `listener` when the other end has reset, though bytes may be unread; at once if it has. */
  whenReset(listener: () => void): void {
    if (this.#isReset) queueMicrotask(listener)
    else this.#onReset = listener
  }

  /** Resets the other end, even if this one has sent its end. */
  resetAndDestroy(): this {
    this.#other.#reset()
    return this.destroy()
  }

  /** As of a Socket. */
  destroySoon(): void {
    this.once('finish', () => this.destroy()).end()
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.#written = error => {
      if (!error) this.#writtenBytes += chunk.length
      done(error)
    }
    if (this.#other.destroyed) this.#settleWrite(connectionReset())
    else this.#other.push(chunk)
  }

  override _final(done: Done): void {
    this.#other.push(null)
    this.#other.read(0) // a Socket, too, ends without a reader if nothing is unread
    done()
  }

  /** Settles later: the callback of a write must not run within a read of the other end. */
  override _read(): void {
    process.nextTick(() => this.#other.#settleWrite())
  }

  override read(size?: number): Buffer | null {
    const chunk: Buffer | null = super.read(size)
    if (this.#isReset) this.#endWhenRead()
    return chunk
  }

  override _destroy(error: Error | null, done: Done): void {
    const isClean = error === null && this.writableFinished && this.readableLength === 0
    if (!isClean) this.#other.#reset()
    this.#other.#settleWrite(connectionReset())
    this.#settleWrite(this.#other.destroyed ? connectionReset() : null) // else its bytes can still be read there
    done(error)
  }

  #settleWrite(error?: Error | null): void {
    const written = this.#written
    this.#written = null
    written?.(error)
  }

  #reset(): void {
    if (this.#isReset || this.destroyed) return
    this.#isReset = true
    this.#onReset()
    this.#endWhenRead()
  }

  #endWhenRead(): void {
    if (this.readableLength === 0) this.destroy(connectionReset())
  }
}

const connectionReset = (): Error =>
  Object.assign(new Error('the other end has reset the connection'), { code: 'ECONNRESET' })
