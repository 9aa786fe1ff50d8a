// The endpoints of the server or the cluster, in the order of this agent's attempts.
import type { Bundle } from './bundle.ts'

/**
 * Each agent has a random order, so that a fleet spreads over the endpoints. The endpoint of the enrollment is last, if
 * the server announces others.
 */
export class Endpoints {
  readonly #random: () => number // in [0, 1)
  #order: string[] = []
  #at = 0
  #failed = 0 // consecutive attempts without an answer

  constructor(random: () => number) {
    this.#random = random
  }

  /** Adopts the endpoints of the bundle. Known endpoints stay in their order. */
  take(bundle: Bundle): void {
    const present = this.current
    const announced = new Set(bundle.server_endpoints)
    const order = this.#order.filter(endpoint => announced.has(endpoint))
    for (const endpoint of announced)
      if (!order.includes(endpoint))
        order.splice(Math.floor(this.#random() * (order.length + 1)), 0, endpoint)
    this.#order = [...new Set([...order, bundle.server_endpoint])]
    this.#at = Math.max(0, this.#order.indexOf(present))
  }

  get current(): string {
    return this.#order[this.#at] ?? ''
  }

  /** The first choice of this agent; null: it is the current one. */
  get preferred(): string | null {
    return this.#at === 0 ? null : (this.#order[0] ?? null)
  }

  get areSeveral(): boolean {
    return this.#order.length > 1
  }

  /** Moves to the next endpoint. Returns false if all were tried and none has answered. */
  next(hasAnswered: boolean): boolean {
    this.#failed = hasAnswered ? 0 : this.#failed + 1
    this.#at = (this.#at + 1) % this.#order.length
    return this.#failed === 0 || this.#failed % this.#order.length !== 0
  }

  goToPreferred(): void {
    this.#at = 0
  }
}
