// One TCP connection with TLS between the clients of a link, after the pins were checked.
import type { Clock } from '../../../../kernel/base/clock.ts'
import type { Release } from '../../../../kernel/base/releases.ts'
import {
  type Frame,
  FrameReader,
  type FrameType,
  frameHeader,
  frameType,
  maxDataBytes,
  ProtocolError
} from './frames.ts'
import { resetSocket } from './reset-socket.ts'
import type { SecureSocket } from './tls-settings.ts'

const keepAliveMs = 15_000
const lingerMs = 100 // until the kernel has the last frames of a connection that closes
const maxReuseMs = 24 * 3_600_000
const maxRecords = 2 ** 24
const stallMs = 300 // the second write after a reset fails, so legs end within 1 s

/** Receives what happens on a link connection. Each client connection in turn is its user. */
export interface ConnectionUser {
  /** Throws ProtocolError for a frame that is not allowed now. */
  received(frame: Frame): void
  /** The connection takes bytes again after `send` returned false. */
  drained?(): void
  /** Called every 300 ms while reading is paused: a write shows whether the peer has reset the connection. */
  stalled?(): void
  /** The connection has ended. No other call follows. */
  closed(): void
}

interface Options {
  readonly clock: Clock
  readonly handshakeMs: number
  readonly role: 'dialer' | 'listener'
  readonly failed: (error: ProtocolError) => void
}

const noUser: ConnectionUser = {
  received({ type }) {
    throw new ProtocolError(`frame type ${type} on an idle connection`)
  },
  closed() {}
}

export class LinkConnection {
  readonly handshakeMs: number
  readonly role: 'dialer' | 'listener'
  readonly #socket: SecureSocket
  readonly #options: Options
  readonly #reader = new FrameReader()
  readonly #openedAt: number
  readonly #observers: (() => void)[] = [] // of the end
  #user: ConnectionUser = noUser
  #held: Frame[] | null = null
  #records = 0 // that this side sent, at least
  #cancelStall: Release | null = null
  #cancelLinger: Release = () => {}
  #isClosed = false
  #isEnding = false // `close` was called
  number = 0 // of the last OPEN

  constructor(socket: SecureSocket, options: Options) {
    this.#socket = socket
    this.#options = options
    this.#openedAt = options.clock.monotonic()
    this.handshakeMs = options.handshakeMs
    this.role = options.role
    const { raw, tls } = socket
    raw.setKeepAlive(true, keepAliveMs)
    raw.setNoDelay(true)
    raw.on('error', () => raw.destroy())
    tls.on('error', () => raw.destroy())
    tls.on('data', (chunk: Buffer) => this.#receive(chunk))
    tls.on('drain', () => this.#user.drained?.())
    tls.on('end', () => this.#ended())
    raw.on('close', () => this.#ended())
    tls.on('close', () => this.#ended())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get isPaused(): boolean {
    return this.#cancelStall !== null
  }

  /** False if the connection is too old for another client connection. */
  get isReusable(): boolean {
    const ageMs = this.#options.clock.monotonic() - this.#openedAt
    return !this.#isClosed && ageMs < maxReuseMs && this.#records < maxRecords && this.number < maxRecords
  }

  get remoteAddress(): string {
    return this.#socket.raw.remoteAddress ?? ''
  }

  /** Sets the user, which gets the held frames first; null: nobody expects a frame. */
  use(user: ConnectionUser | null): void {
    const held = this.#held
    this.#held = null
    this.#user = user ?? noUser
    this.resume()
    if (held) this.#orEnd(() => this.#deliver(held))
    if (this.#isClosed && user) this.#notify(user)
  }

  /** Holds further frames for the next user. */
  hold(): void {
    this.#user = noUser
    this.#held ??= []
    this.pause()
  }

  onClosed(observer: () => void): void {
    this.#observers.push(observer)
  }

  /** Sends a frame. Returns false if the sender should wait for `drained`. */
  send(type: FrameType, payload: Uint8Array | null = null, flags = 0): boolean {
    if (this.#isClosed) return true
    const { tls } = this.#socket
    const header = frameHeader(type, flags, payload?.length ?? 0, this.number)
    this.#records += 1
    if (!payload) return tls.write(header)
    tls.cork() // one record
    tls.write(header)
    const isTaken = tls.write(payload)
    tls.uncork()
    return isTaken
  }

  /** Sends bytes as DATA frames, written together. Returns false if the sender should wait for `drained`. */
  sendData(bytes: Buffer): boolean {
    const { tls } = this.#socket
    let isTaken = true
    tls.cork()
    for (let at = 0; at < bytes.length; at += maxDataBytes)
      isTaken = this.send(frameType.data, bytes.subarray(at, at + maxDataBytes))
    tls.uncork()
    return isTaken
  }

  pause(): void {
    if (this.isPaused || this.#isClosed) return
    this.#socket.tls.pause()
    this.#cancelStall = this.#options.clock.every(stallMs, () => this.#user.stalled?.())
  }

  resume(): void {
    if (!this.isPaused) return
    void this.#cancelStall?.()
    this.#cancelStall = null
    this.#socket.tls.resume()
  }

  /** Sends what was written and closes. A peer that does not read loses what the kernel has not taken after 100 ms. */
  close(): void {
    const { tls, raw } = this.#socket
    if (this.#isClosed) return
    this.#end()
    tls.on('data', () => {})
    tls.resume()
    tls.end()
    this.#isEnding = true
    this.#cancelLinger = this.#options.clock.after(lingerMs, () => raw.destroy())
    raw.once('close', () => void this.#cancelLinger())
  }

  /** Closes at once. */
  destroy(): void {
    this.#end()
    if (this.#isEnding)
      this.#socket.raw.destroy() // no RST while a FIN is under way: libuv refuses
    else resetSocket(this.#socket.raw)
  }

  #receive(chunk: Buffer): void {
    if (!this.#isClosed) this.#orEnd(() => this.#deliver(this.#reader.read(chunk)))
  }

  #deliver(frames: readonly Frame[]): void {
    const wasClosed = this.#isClosed // then these are held frames of a connection that has ended
    for (const frame of frames) {
      if (this.#held) this.#held.push(frame)
      else this.#user.received(frame)
      if (this.#isClosed && !wasClosed) return
    }
  }

  /** Ends the connection if the peer breaks the protocol. */
  #orEnd(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#options.failed(error)
      this.destroy()
    }
  }

  #ended(): void {
    this.#end()
    this.#socket.raw.destroy()
  }

  #end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    void this.#cancelStall?.()
    this.#cancelStall = null
    this.#notify(this.#user)
    for (const observer of this.#observers) observer()
  }

  #notify(user: ConnectionUser): void {
    this.#user = noUser
    user.closed()
  }
}
