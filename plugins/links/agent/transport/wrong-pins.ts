// Slows networks down that show wrong pins.
import type { Clock } from '../../../../kernel/base/clock.ts'

const minuteMs = 60_000
const maxOfStranger = 8
const maxOfKnown = 64
const knownPerSecond = 20
const maxNetworks = 4_096

interface Record {
  count: number
  since: number // start of the minute that is counted
  limitedUntil: number
  second: number // of the handshakes in `inSecond`
  inSecond: number
}

export class WrongPins {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #records = new Map<string, Record>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  add(network: string, isKnown: boolean): void {
    const now = this.#clock.monotonic()
    const record = this.#records.get(network) ?? {
      count: 0,
      since: now,
      limitedUntil: 0,
      second: 0,
      inSecond: 0
    }
    if (now - record.since >= minuteMs) Object.assign(record, { count: 0, since: now })
    record.count += 1
    if (record.count >= (isKnown ? maxOfKnown : maxOfStranger)) record.limitedUntil = now + minuteMs
    this.#records.delete(network)
    this.#records.set(network, record)
    const [oldest] = this.#records.keys()
    if (this.#records.size > maxNetworks && oldest !== undefined) this.#records.delete(oldest)
  }

  /** Returns false if a handshake of this network must not begin: strangers are silenced, known ones get 20 a second. */
  mayBegin(network: string, isKnown: boolean): boolean {
    const record = this.#records.get(network)
    const now = this.#clock.monotonic()
    if (!record || record.limitedUntil <= now) return true
    if (!isKnown) return false
    const second = Math.floor(now / 1000)
    if (record.second !== second) Object.assign(record, { second, inSecond: 0 })
    record.inSecond += 1
    return record.inSecond <= knownPerSecond
  }
}
