import type { Budget, MeterCounters, Meter as MeterLimits } from '../../engine/engine.ts'
import { engineFault } from '../../engine/engine-fault.ts'
import { Meter } from './meter.ts'
import { MeterChain } from './meter-chain.ts'

/** The meters of one engine, by id. */
export class Meters {
  readonly #meters = new Map<number, Meter>()
  readonly #onSpent: (id: number) => void

  constructor(onSpent: (id: number) => void) {
    this.#onSpent = onSpent
  }

  /** Creates the meter or replaces its limits. */
  set(id: number, limits: MeterLimits): void {
    const meter = this.#meters.get(id)
    if (meter) meter.setLimits(limits)
    else this.#meters.set(id, new Meter(id, limits, () => this.#onSpent(id)))
  }

  /** Throws an EngineFault for an unknown meter. */
  setBudget(id: number, budget: Budget | null): void {
    this.#find(id).budget.set(budget)
  }

  remove(id: number): void {
    this.#meters.get(id)?.budget.set(null) // clears its timer
    this.#meters.delete(id)
  }

  /** Throws an EngineFault for an unknown meter. */
  chain(ids: readonly number[]): MeterChain {
    return new MeterChain(ids.map(id => this.#find(id)))
  }

  sample(): MeterCounters[] {
    return [...this.#meters.values()].map(meter => meter.sample())
  }

  /** Clears all timers and keeps the counters. */
  stop(): void {
    for (const meter of this.#meters.values()) meter.budget.set(null)
  }

  #find(id: number): Meter {
    const meter = this.#meters.get(id)
    if (!meter) throw engineFault('EINVAL', `meter ${id} does not exist`)
    return meter
  }
}
