const rememberedMs = 10_000

/** Addresses and ports that sent an ICMP error in the last 10 seconds. */
export class UnreachableAddresses {
  readonly #failedAt = new Map<string, number>() // oldest first

  add(address: string, port: number): void {
    this.#forgetOld()
    this.#failedAt.delete(keyOf(address, port))
    this.#failedAt.set(keyOf(address, port), performance.now())
  }

  /** Returns the same addresses with the unreachable ones last. */
  moveLast(addresses: readonly string[], port: number): readonly string[] {
    this.#forgetOld()
    const isUnreachable = (address: string) => this.#failedAt.has(keyOf(address, port))
    return [...addresses.filter(address => !isUnreachable(address)), ...addresses.filter(isUnreachable)]
  }

  #forgetOld(): void {
    for (const [key, at] of this.#failedAt) {
      if (performance.now() - at < rememberedMs) return
      this.#failedAt.delete(key)
    }
  }
}

const keyOf = (address: string, port: number) => `${address} ${port}`
