// How long links may be used without a Welcome of the server. The time survives restarts.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentTime } from '../../../agent/plugin.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import type { Links } from './links.ts'

const hourMs = 3_600_000
const checkMs = 60_000

interface Options {
  readonly links: Links
  readonly stateDir: string
  readonly time: Pick<AgentTime, 'now'>
  readonly clock: Clock
  readonly log: Log
}

export class Lease {
  readonly #options: Options
  readonly #file: string
  readonly #stop: Release
  #welcomedAt: number // ms since 1970, by the server's time
  #stream: AbortSignal | null = null

  constructor(options: Options) {
    this.#options = options
    this.#file = join(options.stateDir, 'link-lease')
    this.#welcomedAt = this.#read()
    this.#stop = options.clock.every(checkMs, () => this.check())
  }

  close(): void {
    void this.#stop()
  }

  /** The server has welcomed this agent. A stream that stays open counts as one Welcome after another. */
  welcomed(stream: AbortSignal): void {
    this.#stream = stream
    this.#renew()
    stream.addEventListener('abort', () => this.#renew(), { once: true })
    this.#options.links.resume()
  }

  /** Closes the links when their lease is over. */
  check(): void {
    if (this.#stream && !this.#stream.aborted) {
      this.#renew()
      return
    }
    const { links, time, log } = this.#options
    const ageMs = time.now() - this.#welcomedAt
    const isOver = ({ lease_hours: hours }: { readonly lease_hours: number }): boolean =>
      hours > 0 && ageMs >= hours * hourMs
    const over = links.all.filter(({ config }) => isOver(config))
    if (over.length === 0) return
    log.warn('link.lease_over', `${over.length} links are closed until the server answers again`)
    links.suspend(isOver)
  }

  #renew(): void {
    const now = this.#options.time.now()
    const isStale = now - this.#welcomedAt >= checkMs
    this.#welcomedAt = now
    if (!isStale || !this.#options.links.all.some(({ config }) => config.lease_hours > 0)) return
    try {
      writeFileSync(this.#file, String(now), { mode: 0o600 })
    } catch (error) {
      this.#options.log.warn('link.lease_not_saved', `${this.#file} was not written: ${String(error)}`)
    }
  }

  /** Without a file, the lease begins now. */
  #read(): number {
    const { time, log } = this.#options
    try {
      const saved = Number(readFileSync(this.#file, 'utf8'))
      if (saved > 0) return Math.min(saved, time.now())
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException // readFileSync throws this type
      if (code !== 'ENOENT') log.warn('link.lease_unreadable', `${this.#file}: ${String(error)}`)
    }
    return time.now()
  }
}
