// The targets that a caller of a rule can get: those of the rule, or those of a divert.
import type { EngineRule, EngineTarget } from '../engine/engine.ts'
import { isSameTarget } from '../engine/engine-target.ts'
import { canonicalAddress } from '../net/address.ts'
import type { LiveTargetCounters } from './live-counters.ts'
import type { TargetChooser } from './target-chooser.ts'
import type { Attempt, Choose, TargetHealth } from './target-health.ts'

interface Options {
  readonly rule: Pick<EngineRule, 'from'>
  readonly divert: string | null
  readonly targets: readonly EngineTarget[]
  readonly counters: readonly LiveTargetCounters[]
  readonly health: TargetHealth
  readonly chooser: TargetChooser | null
}

export class TargetGroup {
  readonly divert: string | null // name; null: the rule's own targets
  readonly targets: readonly EngineTarget[]
  readonly health: TargetHealth
  readonly #rule: Pick<EngineRule, 'from'>
  readonly #counters: readonly LiveTargetCounters[]
  readonly #chooser: TargetChooser | null

  constructor({ rule, divert, targets, counters, health, chooser }: Options) {
    this.divert = divert
    this.targets = targets
    this.health = health
    this.#rule = rule
    this.#counters = counters
    this.#chooser = chooser
  }

  /** Targets of `other` keep their health. */
  continueFrom(other: TargetGroup): void {
    this.health.continueFrom(
      other.health,
      this.targets.map(target => other.targets.findIndex(old => isSameTarget(old, target)))
    )
  }

  /** Yields attempts at targets, the best first, for a caller with this address. */
  attempts(source: string): Iterable<Attempt> {
    const chooser = this.#chooser
    if (!chooser) return this.health.attempts()
    const address = canonicalAddress(source)
    return this.health.chosenAttempts((targets, of) => chooser.choose(targets, address, of))
  }

  /**
   * Yields attempts at other targets, for a flow that this target has not answered. With a balance, first those that the
   * flow has not `tried`.
   */
  *attemptsAfter(target: number, source: string, tried: Set<number>): Iterable<Attempt> {
    const chooser = this.#chooser
    if (!chooser) return yield* this.health.attemptsAfter(target)
    const address = canonicalAddress(source)
    const choose: Choose = (targets, of) => chooser.choose(targets, address, of)
    if (this.targets.every((_, index) => tried.has(index))) tried.clear()
    tried.add(target)
    for (const attempt of this.health.chosenAttempts(choose, tried)) {
      tried.add(attempt.index)
      yield attempt
    }
  }

  /** Returns a target's host, dialer and counters, and its port for callers of `listenPort`. */
  target(index: number, listenPort: number) {
    const target = this.targets[index]
    const counters = this.#counters[index]
    if (!target || !counters) throw new TypeError(`there is no target ${index}`)
    const offset = listenPort - this.#rule.from
    return { index, host: target.host, port: target.port + offset, offset, dialer: target.dialer, counters }
  }
}
