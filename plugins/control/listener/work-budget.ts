// One agent may take a tenth of a processor. What it has spent beyond that, its next message waits for.
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { BoundHandler } from '../../../kernel/wire/message.ts'

const share = 0.1
const burstMs = 1_000
const longestWaitMs = 5_000 // shorter than the time that a handler has
const [measuredBytes, smallMs] = [1024, 0.01] // a message below takes that long
const turnMs = 5 // of work; then others have their turn
const enduredMs = 30_000

type Hands = Pick<Clock, 'monotonic' | 'after'>

/** The time that one agent, or one network before authentication, has cost the server. */
export class WorkBudget {
  #spentMs = 0 // and not regained yet
  #turnMs = 0
  readonly #clock: Hands
  #at: number
  #exceededAt: number | null = null // since when it has not been regained completely
  #isSpending = false

  constructor(clock: Hands) {
    this.#clock = clock
    this.#at = clock.monotonic()
  }

  /** Does the work and charges the processor time that it takes at once. */
  spend<T>(work: () => T): T {
    if (this.#isSpending) return work()
    this.#isSpending = true
    const before = process.threadCpuUsage()
    try {
      return work()
    } finally {
      this.#isSpending = false
      this.charge(cpuMsSince(before))
    }
  }

  /** As `spend`, for the work of a message in bytes. To measure that of a small one would take as long as the work. */
  spendOn<T>(bytes: number, work: () => T): T {
    if (bytes >= measuredBytes) return this.spend(work)
    if (!this.#isSpending) this.charge(smallMs)
    return work()
  }

  charge(ms: number): void {
    this.#regain()
    this.#spentMs += ms
    this.#turnMs += ms
    if (this.#spentMs > burstMs) this.#exceededAt ??= this.#at
  }

  /** Resolves when the next message may be handled, after others had their turn. */
  async turn(): Promise<void> {
    if (this.#turnMs >= turnMs) {
      this.#turnMs = 0
      await setImmediate()
    }
    this.#regain()
    const ms = Math.min((this.#spentMs - burstMs) / share, longestWaitMs)
    if (ms > 0) await new Promise<void>(resolve => void this.#clock.after(ms, resolve))
    this.#regain()
  }

  /** Returns the handler, charging its work and `ms`. The next message of the stream waits for its turn. */
  handler(handler: BoundHandler, ms = 0): BoundHandler {
    return {
      ...handler,
      run: async (codec, bytes) => {
        this.charge(ms)
        try {
          return await this.spend(() => handler.run(codec, bytes))
        } finally {
          await this.turn()
        }
      }
    }
  }

  get isExceeded(): boolean {
    this.#regain()
    return this.#spentMs > burstMs
  }

  /** It was exceeded, and not regained completely, for 30 s. */
  get isOverrun(): boolean {
    this.#regain()
    return this.#exceededAt !== null && this.#at - this.#exceededAt > enduredMs
  }

  get isUnused(): boolean {
    this.#regain()
    return this.#spentMs === 0
  }

  #regain(): void {
    const now = this.#clock.monotonic()
    this.#spentMs = Math.max(0, this.#spentMs - (now - this.#at) * share)
    this.#at = now
    if (this.#spentMs === 0) this.#exceededAt = null
  }
}

/** The processor time of this thread. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** By client or network, so that a new stream continues with what the one before has left. */
export function openWorkBudgets(clock: Hands) {
  const budgets = new Map<string, WorkBudget>()

  return {
    of(key: string): WorkBudget {
      const budget = budgets.get(key) ?? new WorkBudget(clock)
      budgets.set(key, budget)
      return budget
    },
    sweep(isInUse: (key: string) => boolean): void {
      for (const [key, budget] of budgets) if (budget.isUnused && !isInUse(key)) budgets.delete(key)
    }
  }
}
export type WorkBudgets = ReturnType<typeof openWorkBudgets>
