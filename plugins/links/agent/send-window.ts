import type { Clock } from '../../../kernel/base/clock.ts'

const leastBytes = 256 * 1024
const mostBytes = 16 * 1024 * 1024
const slackMs = 150 // an acknowledgement may take 100 ms

/**
 * Bounds the bytes that the far side has not acknowledged. The window grows if the path delays acknowledgements, not if the
 * target reads slowly: a long path needs more bytes under way, a slow target must not have more.
 */
export class SendWindow {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #rttMs: () => number
  #bytes = leastBytes
  #sent = 0
  #acknowledged = 0
  #fullAt: number | null = null

  constructor(clock: Pick<Clock, 'monotonic'>, rttMs: () => number) {
    this.#clock = clock
    this.#rttMs = rttMs
  }

  get isFull(): boolean {
    return this.#sent - this.#acknowledged >= this.#bytes
  }

  get isAcknowledged(): boolean {
    return this.#sent === this.#acknowledged
  }

  sent(bytes: number): void {
    this.#sent += bytes
    if (this.isFull) this.#fullAt ??= this.#clock.monotonic()
  }

  /** Takes the total of the far side. Returns false if it is impossible. */
  acknowledge(total: number): boolean {
    if (total < this.#acknowledged || total > this.#sent) return false
    this.#acknowledged = total
    if (this.#fullAt === null) return true
    const waitedMs = this.#clock.monotonic() - this.#fullAt
    if (waitedMs <= 2 * this.#rttMs() + slackMs) this.#bytes = Math.min(mostBytes, 2 * this.#bytes)
    this.#fullAt = null
    return true
  }
}
