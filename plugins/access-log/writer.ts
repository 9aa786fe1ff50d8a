// Buffers lines for the destination in bounded memory. Drops and counts lines that do not fit.
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../kernel/base/clock.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Destination } from './destination.ts'
import { formatDropped } from './line.ts'
import { LineShares } from './line-shares.ts'

const maxWaiting = 16_384 // lines, of some 500 bytes
const batch = 256
const secondMs = 1000 // between attempts, and between `dropped` lines
const lastWriteMs = 1000

interface Options {
  readonly to: string
  readonly destination: Destination
  readonly maxPerSec: number
  readonly clock: Clock
  readonly log: Log
}

export class Writer {
  /** Lines. 'limited': over `maxPerSec`; 'failed': refused by the destination; 'overrun': lost by the engine. */
  readonly counts = { written: 0, limited: 0, failed: 0, overrun: 0 }
  readonly #options: Options
  readonly #waiting: { readonly owner: string; readonly line: string }[] = []
  readonly #waitingShares = new LineShares(maxWaiting)
  #unreported = 0 // dropped since the last `dropped` line
  #reportedAt = Number.NEGATIVE_INFINITY
  #second: { readonly beganAt: number; readonly shares: LineShares } | null = null
  #isReopening = false
  #lostBefore: number | null = null // while the destination fails: the earlier count of `failed`
  #running: Promise<void> | null = null
  #wake = () => {}
  #state: 'open' | 'flushing' | 'closed' = 'open'

  constructor(options: Options) {
    this.#options = options
  }

  /** `owner`: of the line's rule. */
  add(owner: string, line: string): void {
    if (!this.#isWithinLimit(owner)) this.drop('limited', 1)
    else if (!this.#waitingShares.add(owner)) this.drop('failed', 1)
    else this.#waiting.push({ owner, line })
    this.#run()
  }

  drop(cause: 'limited' | 'failed' | 'overrun', lines: number): void {
    this.counts[cause] += lines
    this.#unreported += lines
    if (cause === 'failed') this.#failed('its reader is too slow')
    this.#run()
  }

  /** Reopens the destination after a rotation. */
  reopen(): void {
    this.#options.destination.reopen()
    this.#isReopening = true
    this.#wake()
    this.#run()
  }

  /** Resolves when all lines are written, which may never happen while the destination fails. */
  async flush(): Promise<void> {
    if (this.#state === 'open') this.#state = 'flushing'
    this.#wake()
    await this.#running
  }

  async close(): Promise<void> {
    await Promise.race([this.flush(), delay(lastWriteMs)])
    this.#state = 'closed'
    this.#wake()
    await this.#options.destination.close()
  }

  #isWithinLimit(owner: string): boolean {
    const { clock, maxPerSec } = this.#options
    const now = clock.monotonic()
    if (!this.#second || now - this.#second.beganAt >= secondMs)
      this.#second = { beganAt: now, shares: new LineShares(maxPerSec) }
    return this.#second.shares.add(owner)
  }

  get #hasWork(): boolean {
    const hasLines = this.#waiting.length > 0 || this.#unreported > 0
    return this.#state !== 'closed' && (hasLines || this.#isReopening)
  }

  #run(): void {
    if (!this.#running && this.#hasWork)
      this.#running = this.#write().finally(() => {
        this.#running = null
      })
  }

  async #write(): Promise<void> {
    while (this.#hasWork)
      try {
        await this.#options.destination.prepare()
        this.#isReopening = false
        await this.#writeBatch()
        if (this.#waiting.length < maxWaiting / 2) this.#recovered()
        if (this.#waiting.length === 0 && this.#unreported > 0 && this.#state === 'open') await this.#pause()
      } catch (error) {
        this.#failed(reasonOf(error))
        await this.#pause()
      }
  }

  async #writeBatch(): Promise<void> {
    const { destination, clock } = this.#options
    const taken = this.#waiting.splice(0, batch)
    for (const { owner } of taken) this.#waitingShares.remove(owner)
    const lines = taken.map(({ line }) => line)
    const isToReport = this.#state !== 'open' || clock.monotonic() - this.#reportedAt >= secondMs
    const dropped = isToReport ? this.#unreported : 0
    const text = dropped > 0 ? [formatDropped(clock.now(), dropped), ...lines] : lines
    if (text.length === 0) return
    try {
      await destination.write(text)
    } catch (error) {
      this.counts.failed += lines.length
      this.#unreported += lines.length
      throw error
    }
    this.counts.written += lines.length
    this.#unreported -= dropped
    if (dropped > 0) this.#reportedAt = clock.monotonic()
  }

  /** Waits for a second, or until `#wake` is called. */
  #pause(): Promise<void> {
    return new Promise(resolve => {
      const release = this.#options.clock.after(secondMs, resolve)
      this.#wake = () => {
        void release()
        resolve()
      }
    })
  }

  #failed(reason: string): void {
    if (this.#lostBefore !== null) return
    const { log, to } = this.#options
    this.#lostBefore = this.counts.failed
    log.warn('access_log.failed', `lines are lost until ${to} accepts them again: ${reason}`, { to, reason })
  }

  #recovered(): void {
    if (this.#lostBefore === null) return
    const { log, to } = this.#options
    const lost = this.counts.failed - this.#lostBefore
    this.#lostBefore = null
    log.info('access_log.recovered', `${to} accepts lines again; ${lost} were lost`, { to, lost })
  }
}
