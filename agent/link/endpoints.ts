// The endpoints of the server, or of several that share a store, in the order in which this agent tries them.
import type { Bundle } from './bundle.ts'

/**
 * Each agent has an order of its own, by chance, so that a fleet spreads over the endpoints. That of its enrollment is the
 * last one where the server names others.
 */
export class Endpoints {
  readonly #random: () => number // in [0, 1)
  #order: string[] = []
  #at = 0
  #failed = 0 // in a row, without an answer

  constructor(random: () => number) {
    this.#random = random
  }

  /** Takes the endpoints that the bundle has now. Those that stay keep their order. */
  take(bundle: Bundle): void {
    const present = this.current
    const told = new Set(bundle.server_endpoints)
    const order = this.#order.filter(endpoint => told.has(endpoint))
    for (const endpoint of told)
      if (!order.includes(endpoint))
        order.splice(Math.floor(this.#random() * (order.length + 1)), 0, endpoint)
    this.#order = [...new Set([...order, bundle.server_endpoint])]
    this.#at = Math.max(0, this.#order.indexOf(present))
  }

  get current(): string {
    return this.#order[this.#at] ?? ''
  }

  /** The one that this agent would choose, or null where it is the current one. */
  get preferred(): string | null {
    return this.#at === 0 ? null : (this.#order[0] ?? null)
  }

  get areSeveral(): boolean {
    return this.#order.length > 1
  }

  /** Goes on to the next one. False: all have been tried, and none has answered. */
  next(hasAnswered: boolean): boolean {
    this.#failed = hasAnswered ? 0 : this.#failed + 1
    this.#at = (this.#at + 1) % this.#order.length
    return this.#failed === 0 || this.#failed % this.#order.length !== 0
  }

  goToPreferred(): void {
    this.#at = 0
  }
}
