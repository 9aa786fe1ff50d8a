/** Streams or callers by network, in order of arrival. Beyond `max`, the network with the most loses one. */
export class FairEviction<T extends { readonly network: string }> {
  readonly #max: number
  readonly #ofNetwork = new Map<string, Set<T>>() // the network that was added or served longest ago is first
  readonly #bySize: Set<string>[] = [] // networks by their size, to find the largest without a search
  #size = 0

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  has(network: string): boolean {
    return this.#ofNetwork.has(network)
  }

  add(one: T): void {
    const own = this.#ofNetwork.get(one.network) ?? new Set()
    if (own.has(one)) return
    this.#resized(one.network, own.size, own.size + 1)
    this.#ofNetwork.set(one.network, own.add(one))
    this.#size += 1
  }

  delete(one: T): void {
    const own = this.#ofNetwork.get(one.network)
    if (!own?.delete(one)) return
    this.#resized(one.network, own.size + 1, own.size)
    this.#ofNetwork.delete(one.network)
    if (own.size > 0) this.#ofNetwork.set(one.network, own) // to the end of the order
    this.#size -= 1
  }

  /** Yields all, by network. */
  *all(): Generator<T> {
    for (const own of this.#ofNetwork.values()) yield* own
  }

  /** Yields the first one of each network. */
  *heads(): Generator<T> {
    for (const [one] of this.#ofNetwork.values()) if (one) yield one
  }

  /** Returns the one to evict after `newest` was added: the oldest or newest of a largest network; undefined below `max`. */
  surplus(newest: T, which: 'oldest' | 'newest'): T | undefined {
    if (this.#size <= this.#max) return undefined
    const largest = this.#bySize.at(-1) ?? new Set()
    if (which === 'newest' && largest.has(newest.network)) return newest
    const [network = ''] = largest
    const own = this.#ofNetwork.get(network) ?? new Set()
    return which === 'newest' ? [...own].at(-1) : own.values().next().value
  }

  #resized(network: string, from: number, to: number): void {
    this.#bySize[from]?.delete(network)
    if (to > 0) this.#bySize[to] = (this.#bySize[to] ?? new Set()).add(network)
    while (this.#bySize.length > 0 && !this.#bySize.at(-1)?.size) this.#bySize.pop()
  }
}
