// Reports the pins of this agent to the server, and rotates its key.
import type { ControlStream } from '../../../agent/plugin.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import { KeyReport } from '../wire.ts'
import type { LinkEvents } from './link-events.ts'
import type { LinkKeys } from './link-keys.ts'

const checkMs = 60_000
const dayMs = 86_400_000
const switchMs = dayMs // after this time, the next key comes into use even if a peer does not know it

interface Options {
  readonly keys: LinkKeys
  readonly clientId: string
  readonly events: LinkEvents
  readonly clock: Clock
  readonly log: Log
}

export class KeyReporter {
  readonly #options: Options
  readonly #stopChecks: Release
  #stream: ControlStream | null = null
  #keyDays = 0 // as the server last said
  #isReported = false // the server has the present pins
  #isSending = false

  constructor(options: Options) {
    this.#options = options
    this.#stopChecks = options.clock.every(checkMs, () => this.#check())
  }

  close(): void {
    this.#stream = null
    void this.#stopChecks()
  }

  connect(stream: ControlStream): void {
    this.#stream = stream
    this.#changed()
  }

  /** Makes the next key and reports it. */
  rotate(): void {
    this.#options.keys.makeNext()
    this.#changed()
  }

  /** Uses the next key if it has this pin. No connection ends: new handshakes use it. */
  switchTo(pin: string): void {
    const { keys, events, clientId: client } = this.#options
    if (keys.nextPin !== pin || !keys.switchToNext()) return
    events.write('link.key_rotated', client, {
      message: 'links use a new key',
      fields: { client, fingerprint: pin }
    })
    this.#changed()
  }

  #changed(): void {
    this.#isReported = false
    void this.#report()
  }

  /** Reports what the server does not have, and rotates an old key. */
  #check(): void {
    const { keys } = this.#options
    const stream = this.#stream
    if (!stream || stream.signal.aborted) return
    if (!this.#isReported) void this.#report()
    else if (keys.nextPin !== null && keys.nextAgeMs >= switchMs) this.switchTo(keys.nextPin)
    else if (keys.nextPin === null && this.#keyDays > 0 && keys.ageMs >= this.#keyDays * dayMs) this.rotate()
  }

  async #report(): Promise<void> {
    const { keys, log } = this.#options
    const stream = this.#stream
    if (!stream || stream.signal.aborted || this.#isSending) return
    this.#isSending = true
    const { pin, nextPin } = keys
    try {
      const answer = await stream.request(KeyReport, { pin, ...(nextPin !== null && { next_pin: nextPin }) })
      this.#keyDays = answer.key_days
      this.#isReported = keys.pin === pin && keys.nextPin === nextPin
      if (answer.neighbors_know_next && nextPin !== null) this.switchTo(nextPin)
    } catch (error) {
      if (!stream.signal.aborted)
        log.warn('link.key_not_reported', `the server has not stored the pin, retried: ${String(error)}`)
    } finally {
      this.#isSending = false
    }
    const isNewStream = stream !== this.#stream
    if (isNewStream || keys.pin !== pin || keys.nextPin !== nextPin) await this.#report()
  }
}
