// Carries one client connection between a local stream and a link connection: bytes, FIN and RST, in both directions.
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import { SendWindow } from './send-window.ts'
import { decodeCount, encodeCount } from './transport/frame-bodies.ts'
import { type Frame, frameType, ProtocolError } from './transport/frames.ts'
import type { ConnectionUser, LinkConnection } from './transport/link-connection.ts'

const acknowledgeBytes = 256 * 1024
const acknowledgeMs = 100
const flushMs = 5_000

/** Counts payload: `up` towards the target, `down` back. */
export interface ByteCounts {
  up: number
  down: number
}

interface Options {
  readonly connection: LinkConnection
  readonly stream: Duplex // with half-close; a failure of it, or its end without 'end', is a reset
  readonly resetStream: () => void
  readonly counts: ByteCounts
  readonly clock: Clock
  readonly rttMs: () => number
  /** Called once. True: the link connection can carry the next client connection. Otherwise it is closed. */
  readonly done: (isReusable: boolean) => void
}

abstract class Carrier implements ConnectionUser {
  protected readonly connection: LinkConnection
  protected readonly clock: Clock
  protected hasSentEnd = false
  protected hasReceivedEnd = false
  protected unwritten = 0 // bytes that the stream has not accepted
  readonly #options: Options
  #isDone = false
  #isLinkFull = false
  #cancelFlush: Release = () => {}
  #isResetting = false

  constructor(options: Options) {
    this.#options = options
    this.connection = options.connection
    this.clock = options.clock
  }

  start(): void {
    const { stream } = this.#options
    this.connection.use(this)
    stream.on('data', (chunk: Buffer) => this.#sendData(chunk))
    stream.once('end', () => this.#sendEnd())
    stream.on('drain', () => {
      if (!this.#isDone) this.connection.resume()
    })
    stream.on('error', () => this.reset())
    stream.once('close', () => this.#streamClosed())
    if (stream.readableEnded) this.#sendEnd()
    if (stream.destroyed) this.reset()
  }

  received({ type, number, payload }: Frame): void {
    if (number !== this.connection.number) throw new ProtocolError(`frame of ${number}`)
    if (type === frameType.data) this.#receiveData(payload)
    else if (type === frameType.end) this.#receiveEnd()
    else if (type === frameType.reset) this.#receiveReset()
    else this.receivedOther(type, payload)
  }

  drained(): void {
    this.#isLinkFull = false
    this.continueReading()
  }

  closed(): void {
    this.#finish(false)
    this.#resetStream()
  }

  /** Resets both sides. */
  reset(): void {
    if (this.#isDone) return
    this.connection.send(frameType.reset)
    this.#finish(false)
    this.connection.close()
    this.#resetStream()
  }

  protected abstract receivedOther(type: number, payload: Buffer): void
  protected abstract get mayRead(): boolean
  protected abstract count(direction: 'sent' | 'received', bytes: number): void
  /** Bytes from the link were accepted by the stream, or its end was. */
  protected abstract delivered(): void
  /** True if nothing is missing in either direction. */
  protected abstract get isComplete(): boolean

  protected add(direction: keyof ByteCounts, bytes: number): void {
    this.#options.counts[direction] += bytes
  }

  protected continueReading(): void {
    if (this.mayRead && !this.#isLinkFull) this.#options.stream.resume()
  }

  protected check(): void {
    if (this.hasSentEnd && this.hasReceivedEnd && this.isComplete) this.#finish(true)
  }

  #sendData(chunk: Buffer): void {
    if (this.#isDone) return
    const isTaken = this.connection.sendData(chunk)
    this.count('sent', chunk.length)
    this.#isLinkFull = !isTaken
    if (!isTaken || !this.mayRead) this.#options.stream.pause()
  }

  #sendEnd(): void {
    if (this.#isDone || this.hasSentEnd) return
    this.connection.send(frameType.end)
    this.hasSentEnd = true
    this.check()
  }

  #receiveData(payload: Buffer): void {
    if (this.hasReceivedEnd) throw new ProtocolError('DATA after END')
    const { stream } = this.#options
    this.unwritten += payload.length
    this.count('received', payload.length)
    const isTaken = stream.write(payload, error => {
      if (error) return // 'close' follows
      this.unwritten -= payload.length
      this.#written()
    })
    if (isTaken) return
    this.connection.pause()
    this.continueReading() // acknowledgements are not read now, so none is needed
  }

  #written(): void {
    if (this.#isResetting && this.unwritten === 0) this.#resetNow()
    else if (!this.#isDone) this.delivered()
  }

  #receiveEnd(): void {
    if (this.hasReceivedEnd) throw new ProtocolError('END after END')
    this.hasReceivedEnd = true
    this.#options.stream.end(() => {
      if (!this.#isDone) this.delivered()
    })
    this.check()
  }

  #receiveReset(): void {
    this.#finish(false)
    this.connection.close()
    this.#resetStream()
  }

  /** A stream may close after both directions have ended. */
  #streamClosed(): void {
    void this.#cancelFlush()
    const { stream } = this.#options
    if (!this.hasSentEnd || !this.hasReceivedEnd || !stream.writableFinished) this.reset()
  }

  /** Resets the stream when it has accepted the bytes so far, at most 5 s later. */
  #resetStream(): void {
    const { stream } = this.#options
    if (this.#isResetting || stream.destroyed) return
    if (this.hasReceivedEnd && this.hasSentEnd) return // both ends are with the stream
    this.#isResetting = true
    if (this.unwritten === 0) this.#resetNow()
    else this.#cancelFlush = this.clock.after(flushMs, () => this.#resetNow())
  }

  #resetNow(): void {
    void this.#cancelFlush()
    if (!this.#options.stream.destroyed) this.#options.resetStream()
  }

  #finish(isReusable: boolean): void {
    if (this.#isDone) return
    this.#isDone = true
    this.stopped()
    if (isReusable) this.connection.use(null)
    this.#options.done(isReusable)
  }

  protected stopped(): void {}
}

/** Carries the connection of a caller at the near client. */
export class NearCarrier extends Carrier {
  readonly #window: SendWindow

  constructor(options: Options) {
    super(options)
    this.#window = new SendWindow(options.clock, options.rttMs)
  }

  protected receivedOther(type: number, payload: Buffer): void {
    if (type !== frameType.ack) throw new ProtocolError(`frame type ${type} from the far client`)
    if (!this.#window.acknowledge(decodeCount(payload))) throw new ProtocolError('ACK of other bytes')
    this.continueReading()
    this.check()
  }

  protected get mayRead(): boolean {
    return !this.#window.isFull || this.connection.isPaused
  }

  protected count(direction: 'sent' | 'received', bytes: number): void {
    if (direction === 'sent') this.#window.sent(bytes)
    this.add(direction === 'sent' ? 'up' : 'down', bytes)
  }

  protected delivered(): void {}

  protected get isComplete(): boolean {
    return this.#window.isAcknowledged
  }
}

/** Carries the connection to a target at the far client, and acknowledges what the target's socket has accepted. */
export class FarCarrier extends Carrier {
  #received = 0
  #acknowledged = 0
  #cancelAcknowledge: Release | null = null

  stalled(): void {
    this.connection.send(frameType.ack, encodeCount(this.#acknowledged))
  }

  protected receivedOther(type: number): void {
    throw new ProtocolError(`frame type ${type} from the near client`)
  }

  protected get mayRead(): boolean {
    return true
  }

  protected count(direction: 'sent' | 'received', bytes: number): void {
    if (direction === 'received') this.#received += bytes
    this.add(direction === 'sent' ? 'down' : 'up', bytes)
  }

  protected delivered(): void {
    const waiting = this.#delivered - this.#acknowledged
    if (waiting >= acknowledgeBytes || (this.hasReceivedEnd && this.unwritten === 0)) this.#acknowledge()
    else if (waiting > 0)
      this.#cancelAcknowledge ??= this.clock.after(acknowledgeMs, () => this.#acknowledge())
    this.check()
  }

  protected get isComplete(): boolean {
    return this.#acknowledged === this.#received
  }

  protected override stopped(): void {
    void this.#cancelAcknowledge?.()
  }

  get #delivered(): number {
    return this.#received - this.unwritten
  }

  #acknowledge(): void {
    void this.#cancelAcknowledge?.()
    this.#cancelAcknowledge = null
    if (this.#delivered === this.#acknowledged) return
    this.#acknowledged = this.#delivered
    this.connection.send(frameType.ack, encodeCount(this.#acknowledged))
    this.check()
  }
}
