const restMs = 1_000
const maxResting = 1_024

/**
 * Destinations to which no local port is left. A dial that finds none looks at all of them, for 10 ms in which nobody else
 * is served: such a destination rests for a second, in which ports become free (TIME_WAIT ends after 60 s).
 */
export class LocalPorts {
  readonly #restingUntil = new Map<string, number>() // ms, by performance.now(); the earliest first

  areUsedUp(address: string, port: number, from: string | null): boolean {
    if (this.#restingUntil.size === 0) return false
    const now = performance.now()
    for (const [key, until] of this.#restingUntil) {
      if (now < until) break
      this.#restingUntil.delete(key)
    }
    return this.#restingUntil.has(keyOf(address, port, from))
  }

  usedUp(address: string, port: number, from: string | null): void {
    if (this.#restingUntil.size >= maxResting) return
    const key = keyOf(address, port, from)
    this.#restingUntil.delete(key)
    this.#restingUntil.set(key, performance.now() + restMs)
  }
}

const keyOf = (address: string, port: number, from: string | null) => `${address} ${port} ${from ?? ''}`
