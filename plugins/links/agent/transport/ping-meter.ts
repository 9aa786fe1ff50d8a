// Round trips and losses of the pings of the last minute.
import type { Clock } from '../../../../kernel/base/clock.ts'

const windowMs = 60_000
const lateMs = 3_000

interface Ping {
  readonly sentAt: number
  rttMs: number | null
}

export interface RoundTrips {
  readonly last: number
  readonly p50: number
  readonly p99: number
}

export class PingMeter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #pings = new Map<number, Ping>() // by their numbers, the oldest first
  #last = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Returns the number of a ping that is sent now. */
  send(): number {
    this.#last += 1
    this.#pings.set(this.#last, { sentAt: this.#clock.monotonic(), rttMs: null })
    this.#forget()
    return this.#last
  }

  /** Returns false if no such ping waits for an answer. */
  answered(number: number): boolean {
    const ping = this.#pings.get(number)
    if (ping?.rttMs !== null) return false
    ping.rttMs = this.#clock.monotonic() - ping.sentAt
    return true
  }

  roundTrips(): RoundTrips | null {
    this.#forget()
    const all = [...this.#pings.values()].flatMap(({ rttMs }) => (rttMs === null ? [] : [rttMs]))
    const sorted = all.toSorted((a, b) => a - b)
    const at = (part: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
    return all.length === 0 ? null : { last: all.at(-1) ?? 0, p50: at(0.5), p99: at(0.99) }
  }

  /** Returns the part of the pings that were not answered within 3 s, in percent; null without pings. */
  lossPercent(): number | null {
    this.#forget()
    const due = this.#clock.monotonic() - lateMs
    const pings = [...this.#pings.values()].filter(({ sentAt, rttMs }) => rttMs !== null || sentAt <= due)
    const lost = pings.filter(({ rttMs }) => rttMs === null).length
    return pings.length === 0 ? null : (100 * lost) / pings.length
  }

  #forget(): void {
    const since = this.#clock.monotonic() - windowMs
    for (const [number, { sentAt }] of this.#pings)
      if (sentAt < since) this.#pings.delete(number)
      else return
  }
}
