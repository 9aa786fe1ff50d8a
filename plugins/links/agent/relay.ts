// Passes the frames of one client connection between two link connections. It acknowledges nothing itself.
import { decodeCount } from './transport/frame-bodies.ts'
import { type Frame, frameType, ProtocolError } from './transport/frames.ts'
import type { ConnectionUser, LinkConnection } from './transport/link-connection.ts'

/** One side of a relay: a link connection, and where its payload is counted. */
export interface RelaySide {
  readonly connection: LinkConnection
  readonly counts: { up: number; down: number }
}

interface Options {
  readonly near: RelaySide // towards the entry
  readonly far: RelaySide // towards the exit
  /** Called once. True: both link connections can carry the next client connection. Otherwise they are closed. */
  readonly done: (isReusable: boolean) => void
}

type Direction = 'up' | 'down'

export class Relay {
  readonly #options: Options
  readonly #ended = { up: false, down: false }
  #upBytes = 0
  #acknowledged = 0
  #lastAck = Buffer.alloc(8)
  #isDone = false

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    const { near, far } = this.#options
    near.connection.use(this.#user('up'))
    far.connection.use(this.#user('down'))
  }

  /** Resets both sides. */
  reset(): void {
    if (this.#isDone) return
    this.#finish(false)
    for (const { connection } of [this.#options.near, this.#options.far]) {
      connection.send(frameType.reset)
      connection.close()
    }
  }

  /** Returns the user of the side that sends frames in the direction. */
  #user(direction: Direction): ConnectionUser {
    const { near, far } = this.#options
    const from = direction === 'up' ? near.connection : far.connection
    const to = direction === 'up' ? far.connection : near.connection
    return {
      received: frame => {
        if (frame.number !== from.number) throw new ProtocolError(`frame of ${frame.number}`)
        if (frame.type === frameType.reset) return this.reset()
        this.#check(frame, direction)
        if (!to.send(frame.type, frame.payload.length > 0 ? frame.payload : null)) from.pause()
        this.#settle()
      },
      drained: () => to.resume(),
      stalled: () => {
        if (direction === 'up') from.send(frameType.ack, this.#lastAck)
      },
      closed: () => this.reset()
    }
  }

  /** Throws ProtocolError for a frame that this side must not send now. */
  #check({ type, payload }: Frame, direction: Direction): void {
    if (type === frameType.data || type === frameType.end) {
      if (this.#ended[direction]) throw new ProtocolError(`frame type ${type} after END`)
      if (type === frameType.end) this.#ended[direction] = true
      else this.#count(direction, payload.length)
      return
    }
    if (type !== frameType.ack || direction === 'up') throw new ProtocolError(`frame type ${type}`)
    const total = decodeCount(payload)
    if (total < this.#acknowledged || total > this.#upBytes) throw new ProtocolError('ACK of other bytes')
    this.#acknowledged = total
    this.#lastAck = Buffer.from(payload)
  }

  #count(direction: Direction, bytes: number): void {
    if (direction === 'up') this.#upBytes += bytes
    this.#options.near.counts[direction] += bytes
    this.#options.far.counts[direction] += bytes
  }

  #settle(): void {
    const { up, down } = this.#ended
    if (up && down && this.#acknowledged === this.#upBytes) this.#finish(true)
  }

  #finish(isReusable: boolean): void {
    if (this.#isDone) return
    this.#isDone = true
    const { near, far, done } = this.#options
    if (isReusable) {
      near.connection.use(null)
      far.connection.use(null)
    }
    done(isReusable)
  }
}
