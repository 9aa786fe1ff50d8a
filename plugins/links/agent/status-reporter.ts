// Reports the state of links to the server: changes at once, all links every 10 s.
import type { ControlStream } from '../../../agent/plugin.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import { type LinkStatus, maxReported, StatusReport } from '../wire.ts'
import type { AgentLink } from './link.ts'

const everyMs = 10_000
const gatherMs = 50 // changes that come together are one report
const maxCounts = 32

interface Options {
  readonly links: () => readonly AgentLink[]
  readonly clock: Clock
  readonly log: Log
}

export class StatusReporter {
  readonly #options: Options
  readonly #stopReports: Release
  #stream: ControlStream | null = null
  #cancelSoon: Release | null = null
  #isSending = false
  #isDue = false

  constructor(options: Options) {
    this.#options = options
    this.#stopReports = options.clock.every(everyMs, () => void this.#report())
  }

  close(): void {
    this.#stream = null
    void this.#stopReports()
    void this.#cancelSoon?.()
  }

  connect(stream: ControlStream): void {
    this.#stream = stream
    this.changed()
  }

  /** The state of a link has changed. */
  changed(): void {
    this.#cancelSoon ??= this.#options.clock.after(gatherMs, () => {
      this.#cancelSoon = null
      void this.#report()
    })
  }

  async #report(): Promise<void> {
    const { links, log } = this.#options
    const stream = this.#stream
    if (!stream || stream.signal.aborted) return
    this.#isDue = this.#isSending
    if (this.#isSending) return
    this.#isSending = true
    try {
      const all = links().map(statusOf)
      for (let at = 0; at < all.length; at += maxReported)
        await stream.request(StatusReport, { links: all.slice(at, at + maxReported) })
    } catch (error) {
      if (!stream.signal.aborted)
        log.warn('link.not_reported', `the server did not accept the state of links: ${String(error)}`)
    } finally {
      this.#isSending = false
    }
    if (this.#isDue) this.changed()
  }
}

function statusOf(link: AgentLink): LinkStatus {
  const trips = link.meter.roundTrips()
  const loss = link.meter.lossPercent()
  return {
    id: link.config.id,
    state: link.state,
    ...(link.state === 'down' && { reason: link.reason ?? 'unreachable' }),
    ...(link.role !== null && { role: link.role }),
    ...(trips && { rtt_last_ms: trips.last, rtt_p50_ms: trips.p50, rtt_p99_ms: trips.p99 }),
    ...(loss !== null && { loss_percent: loss }),
    open: link.openCount,
    idle: link.idleCount,
    bytes_in: link.counts.up,
    bytes_out: link.counts.down,
    opens: countsOf(link.opens),
    handshakes: countsOf(link.handshakes)
  }
}

const countsOf = (counts: ReadonlyMap<string, number>): { key: string; value: number }[] =>
  [...counts].slice(0, maxCounts).map(([key, value]) => ({ key, value }))
