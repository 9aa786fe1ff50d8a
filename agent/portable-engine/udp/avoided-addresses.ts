const maxAvoided = 64
/** How long addresses are avoided. A silent one outlasts the turns of two other targets. */
const avoidedMs = { unreachable: 10_000, silent: 30_000 } as const

/** Addresses and ports that have recently sent an ICMP error, or have not answered. */
export class AvoidedAddresses {
  readonly #until = new Map<string, number>() // oldest first

  add(address: string, port: number, why: keyof typeof avoidedMs): void {
    this.#forgetOld()
    this.#until.delete(keyOf(address, port))
    const [oldest] = this.#until.keys()
    if (this.#until.size === maxAvoided && oldest !== undefined) this.#until.delete(oldest)
    this.#until.set(keyOf(address, port), performance.now() + avoidedMs[why])
  }

  /** Returns the same addresses with the avoided ones last. */
  moveLast(addresses: readonly string[], port: number): readonly string[] {
    this.#forgetOld()
    const isAvoided = (address: string) => this.#until.has(keyOf(address, port))
    return [...addresses.filter(address => !isAvoided(address)), ...addresses.filter(isAvoided)]
  }

  #forgetOld(): void {
    const now = performance.now()
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}

const keyOf = (address: string, port: number) => `${address} ${port}`
