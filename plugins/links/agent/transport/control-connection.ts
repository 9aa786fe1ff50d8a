// The control connection of a link: pings, and requests for link connections. It carries no client connection.
import type { Clock } from '../../../../kernel/base/clock.ts'
import type { Release } from '../../../../kernel/base/releases.ts'
import { decodeCount, decodeDial, encodeCount, encodeDial } from './frame-bodies.ts'
import { type Frame, flag, frameType, ProtocolError } from './frames.ts'
import type { LinkConnection } from './link-connection.ts'
import type { PingMeter } from './ping-meter.ts'

const pingMs = 3_000
const deadMs = 9_000

interface Options {
  readonly connection: LinkConnection
  readonly side: 'near' | 'far'
  readonly meter: PingMeter
  readonly clock: Clock
  /** The peer asks for link connections. */
  readonly dial: (count: number) => void
  readonly ended: (reason: 'timeout' | 'unreachable') => void
}

export class ControlConnection {
  readonly connection: LinkConnection
  readonly #options: Options
  readonly #release: Release
  #heardAt: number
  #isEnded = false

  constructor(options: Options) {
    const { connection, clock } = options
    this.#options = options
    this.connection = connection
    this.#heardAt = clock.monotonic()
    this.#release = clock.every(pingMs, () => this.#tick())
    connection.use({ received: frame => this.#received(frame), closed: () => this.#end('unreachable') })
    this.#ping()
  }

  /** Asks the far client, which dials, for link connections. */
  request(count: number): void {
    this.connection.send(frameType.dial, encodeDial(count))
  }

  close(): void {
    this.#stop()
    this.connection.close()
  }

  #received({ type, flags, number, payload }: Frame): void {
    if (number !== 0) throw new ProtocolError(`frame of ${number} on the control connection`)
    const isNear = this.#options.side === 'near'
    const isAnswer = flags === flag.answer
    if (type === frameType.dial && !isNear) this.#options.dial(decodeDial(payload))
    else if (type !== frameType.ping || isAnswer !== isNear)
      throw new ProtocolError(`frame type ${type} on the control connection`)
    else if (!isAnswer) this.connection.send(frameType.ping, payload, flag.answer)
    else if (!this.#options.meter.answered(decodeCount(payload))) throw new ProtocolError('answer to no ping')
    this.#heardAt = this.#options.clock.monotonic()
  }

  #tick(): void {
    if (this.#options.clock.monotonic() - this.#heardAt >= deadMs) {
      this.#end('timeout')
      this.connection.destroy()
    } else this.#ping()
  }

  #ping(): void {
    if (this.#options.side === 'far') return
    this.connection.send(frameType.ping, encodeCount(this.#options.meter.send()))
  }

  #end(reason: 'timeout' | 'unreachable'): void {
    if (this.#isEnded) return
    this.#stop()
    this.#options.ended(reason)
  }

  #stop(): void {
    this.#isEnded = true
    void this.#release()
  }
}
