// Reports the bans that the agent made. They wait in memory, and on disk for a restart, until the server has stored them.
import type { AgentCall, AgentQueue, ControlStream } from '../../agent/plugin.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { type Ban, Report } from './wire.ts'

const retryMs = 60_000
const everyMs = 1_000
const bansPerReport = 20
const maxQueued = 10_000 // capacity of the queue on disk
const maxStale = 5_000 // queued bans that the server has, or that were evicted

interface Waiting {
  readonly ban: Ban
  readonly lane: string
}

/** Reports at most 20 bans a second: a flood must not delay other messages, and each costs the agent a sync of its disk. */
export class BanReporter {
  readonly #call: AgentCall
  readonly #queue: AgentQueue
  readonly #waiting = new Map<string, Waiting>() // by id
  readonly #lanes = new Map<string, Map<string, Ban>>() // the waiting bans of each owner, which take turns; none is empty
  #queued = 0
  #stream: ControlStream | null = null
  #isSending = false
  #cancelNext: Release | null = null // set while a report must wait

  constructor(call: AgentCall) {
    this.#call = call
    this.#queue = call.queue('bans')
  }

  /** Returns the bans that had not been reported when the agent stopped. They wait again. */
  restore(): Ban[] {
    const items = this.#queue.first(maxQueued)
    this.#queued = items.length
    const bans = items.map(({ item }) => JSON.parse(item) as Ban) // as `add` wrote it
    for (const ban of bans) this.#wait(ban, '')
    return bans
  }

  /** Saves a new ban and reports it. */
  add(ban: Ban, owner: string): void {
    this.#wait(ban, owner)
    this.#save(ban)
    if (this.#queued - this.#waiting.size > maxStale) this.#compact()
    this.#report()
  }

  /** Does not report a ban that was evicted or that the server has. */
  forget(id: string): void {
    const { lane = '' } = this.#waiting.get(id) ?? {}
    this.#waiting.delete(id)
    const bans = this.#lanes.get(lane)
    bans?.delete(id)
    if (bans?.size === 0) this.#lanes.delete(lane)
    if (this.#waiting.size === 0 && this.#queued > 0) this.#clearQueue()
  }

  connect(stream: ControlStream): void {
    this.#stream = stream
    stream.signal.addEventListener(
      'abort',
      this.#call.clock.every(retryMs, () => this.#report()),
      {
        once: true
      }
    )
    this.#report()
  }

  close(): void {
    this.#stream = null
    void this.#cancelNext?.()
  }

  #wait(ban: Ban, lane: string): void {
    this.#waiting.set(ban.id, { ban, lane })
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? new Map()).set(ban.id, ban))
  }

  #save(ban: Ban): void {
    this.#queue.push(JSON.stringify(ban))
    this.#queued += 1
  }

  /** Rewrites the queue, so that it does not fill with bans that no longer wait. */
  #compact(): void {
    this.#clearQueue()
    for (const { ban } of this.#waiting.values()) this.#save(ban)
  }

  #clearQueue(): void {
    this.#queue.first(1) // writes what was pushed in this turn of the event loop
    this.#queue.removeUntil(Number.MAX_SAFE_INTEGER)
    this.#queued = 0
  }

  #report(): void {
    const stream = this.#stream
    if (!stream || stream.signal.aborted || this.#waiting.size === 0) return
    if (this.#isSending || this.#cancelNext) return
    this.#isSending = true
    void this.#send(stream)
  }

  async #send(stream: ControlStream): Promise<void> {
    const bans = this.#next()
    try {
      await stream.request(Report, { bans })
      for (const { id } of bans) this.forget(id)
      this.#cancelNext = this.#call.clock.after(everyMs, () => {
        this.#cancelNext = null
        this.#report()
      })
    } catch (error) {
      if (!stream.signal.aborted)
        this.#call.log.warn(
          'ban.report_failed',
          `could not report bans, retrying in a minute: ${String(error)}`
        )
    } finally {
      this.#isSending = false
    }
    if (stream !== this.#stream) this.#report() // a new stream came during the report
  }

  /** Returns the next bans to report, one of each owner in turn. */
  #next(): Ban[] {
    const next: Ban[] = []
    let lanes = [...this.#lanes].map(([lane, bans]) => ({ lane, bans, rest: bans.values() }))
    const take = ({ lane, bans, rest }: (typeof lanes)[number]): boolean => {
      if (next.length >= bansPerReport) return false
      const { value, done } = rest.next()
      if (done) return false
      next.push(value)
      this.#lanes.delete(lane)
      this.#lanes.set(lane, bans) // to the end of the order
      return true
    }
    while (lanes.length > 0) lanes = lanes.filter(take)
    return next
  }
}
