const rememberedMs = 10_000

/** Addresses and ports from which an ICMP error came in the last 10 seconds. */
export class UnreachableAddresses {
  readonly #notedAt = new Map<string, number>() // oldest first

  add(address: string, port: number): void {
    this.#forgetOld()
    this.#notedAt.delete(keyOf(address, port))
    this.#notedAt.set(keyOf(address, port), performance.now())
  }

  /** Returns the same addresses with the unreachable ones last. */
  moveLast(addresses: readonly string[], port: number): readonly string[] {
    this.#forgetOld()
    const isUnreachable = (address: string) => this.#notedAt.has(keyOf(address, port))
    return [...addresses.filter(address => !isUnreachable(address)), ...addresses.filter(isUnreachable)]
  }

  #forgetOld(): void {
    for (const [key, at] of this.#notedAt) {
      if (performance.now() - at < rememberedMs) return
      this.#notedAt.delete(key)
    }
  }
}

const keyOf = (address: string, port: number) => `${address} ${port}`
