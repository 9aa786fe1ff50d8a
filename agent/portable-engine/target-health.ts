// The health of a rule's targets, from the results of the last attempts to connect.
import { systemClock } from '../../kernel/base/clock.ts'
import type { EngineEvent, EngineRule, Health, HealthSource } from '../engine/engine.ts'
import type { LiveTargetCounters } from './live-counters.ts'
import type { DialFailure } from './net/dial-failure.ts'

const failuresToFail = 3
const failuresWithinMs = 30_000
const retryMs = 10_000
const successesToHeal = 2

/** An attempt to connect to one target. Exactly one of its methods is called, once. */
export interface Attempt {
  readonly index: number // of the target
  succeeded(): void
  failed(reason: string): void
  /** The name of the target was not resolved. */
  lookupFailed(reason: string): void
  /** The attempt ended without a result for the target. */
  abandoned(): void
}

/** Reports a failed dial to its attempt. */
export function reportFailure(attempt: Attempt, { failure, isLookup }: DialFailure): void {
  if (failure === null) attempt.abandoned()
  else if (isLookup) attempt.lookupFailed(failure)
  else attempt.failed(failure)
}

/** Chooses one of the targets; undefined: none is eligible. */
export type Choose = (targets: readonly number[], of: 'in-service' | 'any') => number | undefined

/** Stores the health in `counters`, the live counters of the rule's targets. */
export class TargetHealth {
  readonly #targets: readonly Target[]
  readonly #protocol: EngineRule['protocol']

  constructor(
    { id: ruleId, protocol }: Pick<EngineRule, 'id' | 'protocol'>,
    counters: readonly LiveTargetCounters[],
    emit: (event: EngineEvent) => void,
    now = () => performance.now()
  ) {
    this.#protocol = protocol
    this.#targets = counters.map((row, target) => {
      const onChange: OnChange = (from, to, reason) =>
        emit({ kind: 'target-health', ruleId, target, from, to, reason })
      return new Target(target, row, now, onChange)
    })
  }

  /** Copies the health of the same targets of another rule. `indices` are the indices there, or -1. */
  continueFrom(other: TargetHealth, indices: readonly number[]): void {
    for (const [index, there] of indices.entries()) {
      const known = other.#targets[there]
      if (known) this.#targets[index]?.continueFrom(known)
    }
  }

  /**
   * Yields attempts in failover order; checks each target's health only when it is next. Failed targets are skipped,
   * unless all have failed. Then TCP tries them in order; UDP begins with the one that failed longest ago, since a flow
   * cannot fail over later: ICMP errors come too late.
   */
  *attempts(): Iterable<Attempt> {
    const haveAllFailed = this.#targets.every(target => target.isFailed)
    const order = [...this.#targets]
    if (haveAllFailed && this.#protocol === 'udp') order.sort((a, b) => a.retryAt - b.retryAt)
    for (const target of order) if (haveAllFailed || target.mayBeTried()) yield target.begin()
  }

  /**
   * Yields attempts at the targets that `choose` returns, one after another: first targets in service, then ejected ones
   * that have not failed, then all that are left.
   */
  *chosenAttempts(choose: Choose, tried: ReadonlySet<number> = new Set()): Iterable<Attempt> {
    const left = new Set(this.#targets.keys()).difference(tried)
    const due = () => [...left].filter(index => this.#targets[index]?.mayBeTried())
    const next = () => choose(due(), 'in-service') ?? choose(due(), 'any') ?? choose([...left], 'any')
    for (let chosen = next(); chosen !== undefined; chosen = next()) {
      left.delete(chosen)
      yield this.attempt(chosen)
    }
  }

  /**
   * Yields attempts at the other targets, for a flow that this one has not answered: the next by priority comes first.
   * Failed targets are skipped, unless all have failed.
   */
  *attemptsAfter(index: number): Iterable<Attempt> {
    const haveAllFailed = this.#targets.every(target => target.isFailed)
    const order = [...this.#targets.slice(index + 1), ...this.#targets.slice(0, index)]
    if (haveAllFailed) order.sort((a, b) => a.retryAt - b.retryAt)
    for (const target of order) if (haveAllFailed || target.mayBeTried()) yield target.begin()
  }

  /** Records that a UDP target has sent a datagram. */
  replied(index: number): void {
    const target = this.#targets[index]
    if (target) target.repliedAt = performance.now()
  }

  hasRepliedSince(index: number, since: number): boolean {
    return (this.#targets[index]?.repliedAt ?? 0) >= since
  }

  /** Starts an attempt at any target, whatever its health. */
  attempt(index: number, source: HealthSource = 'traffic'): Attempt {
    const target = this.#targets[index]
    if (!target) throw new TypeError(`the rule has no target ${index}`)
    return target.begin(source)
  }
}

type OnChange = (from: Health, to: Health, reason: string) => void

class Target {
  repliedAt = 0 // by performance.now()
  retryAt = 0 // by #now, `retryMs` after the last failure; 0 after a success
  readonly #index: number
  readonly #counters: LiveTargetCounters
  readonly #now: () => number
  readonly #onChange: OnChange
  #failedAt: number[] = [] // times of the last consecutive failures
  #successes = 0 // consecutive, of a failed target
  #attempts = 0 // in progress

  constructor(index: number, counters: LiveTargetCounters, now: () => number, onChange: OnChange) {
    this.#index = index
    this.#counters = counters
    this.#now = now
    this.#onChange = onChange
  }

  continueFrom(other: Target): void {
    const { health, consecutiveFailures, failures } = other.#counters
    const { lastFailureAt, lastSuccessAt, lastFailure, lastSource } = other.#counters
    Object.assign(this.#counters, { health, consecutiveFailures, failures })
    Object.assign(this.#counters, { lastFailureAt, lastSuccessAt, lastFailure, lastSource })
    this.#failedAt = [...other.#failedAt]
    this.#successes = other.#successes
    this.retryAt = other.retryAt
  }

  get isFailed(): boolean {
    return this.#counters.health === 'failed'
  }

  mayBeTried(): boolean {
    return !this.isFailed || (this.#attempts === 0 && this.#now() >= this.retryAt)
  }

  begin(source: HealthSource = 'traffic'): Attempt {
    const end = (record: () => void) => {
      this.#attempts--
      record()
    }
    const failed = (reason: string, shown: string) => {
      this.#counters.lastSource = source
      this.#counters.lastFailure = shown
      this.#failed(reason)
    }
    this.#attempts++
    return {
      index: this.#index,
      succeeded: () => end(() => this.#succeeded(source)),
      failed: reason => end(() => failed(reason, reason)),
      lookupFailed: reason => end(() => failed(reason, `dns_${reason}`)),
      abandoned: () => end(() => {})
    }
  }

  #succeeded(source: HealthSource): void {
    this.#counters.lastSource = source
    this.#counters.lastSuccessAt = systemClock.now()
    this.#counters.consecutiveFailures = 0
    this.#failedAt = []
    this.retryAt = 0
    if (this.isFailed && ++this.#successes < successesToHeal) return
    this.#setHealth('healthy', 'connected')
  }

  #failed(reason: string): void {
    const now = this.#now()
    this.#counters.lastFailureAt = systemClock.now()
    this.#counters.consecutiveFailures++
    this.#counters.failures++
    this.#successes = 0
    this.retryAt = now + retryMs
    this.#failedAt = [...this.#failedAt, now].slice(-failuresToFail)
    const [oldest = now] = this.#failedAt
    if (this.#failedAt.length === failuresToFail && now - oldest <= failuresWithinMs)
      this.#setHealth('failed', reason)
  }

  #setHealth(to: Health, reason: string): void {
    const from = this.#counters.health
    this.#counters.health = to
    if (from !== to) this.#onChange(from, to, reason)
  }
}
