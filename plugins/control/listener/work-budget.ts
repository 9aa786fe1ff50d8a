// An agent may use a tenth of a processor. Beyond that its next message waits.
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../../kernel/base/clock.ts'
import { currentPayer } from '../../../kernel/base/request-id.ts'
import type { BoundHandler } from '../../../kernel/wire/message.ts'

const share = 0.1
const burstMs = 1_000
const longestWaitMs = 5_000 // shorter than the time that a handler has
const measuredBytes = 1024
const smallMs = 0.01 // charged for a smaller message, and for as many bytes of a sent one
const turnMs = 5 // of work; then the event loop runs others
const enduredMs = 30_000

type Hands = Pick<Clock, 'monotonic' | 'after'>

/** The time that one agent, or one network before authentication, has cost the server. */
export class WorkBudget {
  #spentMs = 0 // not regained yet
  #turnMs = 0
  readonly #clock: Hands
  #at: number
  #exceededAt: number | null = null // reset when the budget is regained completely
  #isSpending = false

  constructor(clock: Hands) {
    this.#clock = clock
    this.#at = clock.monotonic()
  }

  /** Runs the work and charges its synchronous processor time, that of an answer to the user who asked the agent. */
  spend<T>(work: () => T): T {
    if (this.#isSpending) return work()
    this.#isSpending = true
    const before = process.threadCpuUsage()
    try {
      return work()
    } finally {
      this.#isSpending = false
      const payer = currentPayer.getStore() ?? this
      payer.charge(cpuMsSince(before))
    }
  }

  /** Like `spend` for a received message. For a small one it charges a constant, since measuring costs as much as the work. */
  spendOn<T>(bytes: number, work: () => T): T {
    if (bytes >= measuredBytes) return this.spend(work)
    this.chargeFor(bytes)
    return work()
  }

  /** Charges a message by its size. */
  chargeFor(bytes: number): void {
    if (!this.#isSpending) this.charge(smallMs * Math.ceil(bytes / measuredBytes))
  }

  charge(ms: number): void {
    this.#regain()
    this.#spentMs += ms
    this.#turnMs += ms
    if (this.#spentMs > burstMs) this.#exceededAt ??= this.#at
  }

  /** Resolves when the next message may be handled. Yields to the event loop. */
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

  /** Wraps a handler: charges its work and `ms`, and delays the next message of the stream. */
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

  /** True if the budget was exceeded for 30 s without being regained completely. */
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

/** Returns the processor time of this thread in ms. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

export interface WorkBudgets {
  /** Returns the budget of a client or network. A new stream continues with the budget of the one before. */
  of(key: string): WorkBudget
  /** Drops regained budgets that are not in use. */
  sweep(isInUse: (key: string) => boolean): void
}

export function openWorkBudgets(clock: Hands): WorkBudgets {
  const budgets = new Map<string, WorkBudget>()

  return {
    of(key) {
      const budget = budgets.get(key) ?? new WorkBudget(clock)
      budgets.set(key, budget)
      return budget
    },
    sweep(isInUse) {
      for (const [key, budget] of budgets) if (budget.isUnused && !isInUse(key)) budgets.delete(key)
    }
  }
}
