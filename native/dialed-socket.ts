// The end of a dialed target that JavaScript gets: a Unix socket. The engine relays its other end.
import { Socket } from 'node:net'
import type { NativeEngine } from './bridge.ts'

/** The calls of the engine about resets, which a Unix socket does not carry. */
type Resets = Pick<NativeEngine, 'resetStream' | 'isStreamReset' | 'releaseStream'>

/** Ends and resets as `Engine.dialed` says. */
export class DialedSocket extends Socket {
  readonly #engine: Resets
  readonly #token: number
  #hasEnd = false // though bytes before it may be unread
  #isReset = false // by the engine, and only bytes that were received before are to be read

  /** Owns the descriptor. */
  constructor(fd: number, token: number, engine: Resets) {
    super({ fd, allowHalfOpen: true, readable: true, writable: true })
    this.#engine = engine
    this.#token = token
    this.on('error', () => {}) // 'close' follows
    this.once('close', () => engine.releaseStream(token))
  }

  /** Called when the engine has reset the stream. Bytes may be on their way: their end is then a reset, see `push`. */
  engineReset(): void {
    if (!this.#hasEnd) return
    this.#isReset = true
    this.#endWhenRead()
  }

  /** Node calls it with null at the end of the bytes. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk !== null) return super.push(chunk, encoding)
    this.#hasEnd = true
    this.#isReset = this.#engine.isStreamReset(this.#token)
    if (!this.#isReset) return super.push(null)
    this.#endWhenRead()
    return false
  }

  override read(size?: number): Buffer | null {
    const chunk: Buffer | null = super.read(size)
    if (#isReset in this && this.#isReset) this.#endWhenRead() // the constructor of Socket reads, too
    return chunk
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (error !== null || !this.writableFinished) this.#engine.resetStream(this.#token)
    super._destroy(error, done)
  }

  #endWhenRead(): void {
    if (this.readableLength === 0) this.destroy(connectionReset())
  }
}

const connectionReset = (): Error =>
  Object.assign(new Error('the other end has reset the connection'), { code: 'ECONNRESET' })
