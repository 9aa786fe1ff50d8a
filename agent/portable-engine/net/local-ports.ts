const restMs = 1_000
const maxResting = 1_024

/**
 * Destinations without a free local port. A dial to one of them makes the kernel search all ports, which blocks for 10 ms.
 * So the engine does not dial it again for a second; ports become free when their TIME_WAIT ends (60 s).
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
