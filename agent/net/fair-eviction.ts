/** Streams, callers or requests by group: a network or an owner, in order of arrival. Beyond `max`, the largest loses one. */
export class FairEviction<T> {
  readonly #max: number
  readonly #groupOf: (one: T) => string
  readonly #groups = new Map<string, Set<T>>() // the group that was added or served longest ago is first
  readonly #bySize: Set<string>[] = [] // groups by their size, to find the largest without a search
  #size = 0

  constructor(max: number, groupOf: (one: T) => string) {
    this.#max = max
    this.#groupOf = groupOf
  }

  get size(): number {
    return this.#size
  }

  has(group: string): boolean {
    return this.#groups.has(group)
  }

  add(one: T): void {
    const group = this.#groupOf(one)
    const own = this.#groups.get(group) ?? new Set()
    if (own.has(one)) return
    this.#resized(group, own.size, own.size + 1)
    this.#groups.set(group, own.add(one))
    this.#size += 1
  }

  /** Returns false if it is not there. */
  delete(one: T): boolean {
    const group = this.#groupOf(one)
    const own = this.#groups.get(group)
    if (!own?.delete(one)) return false
    this.#resized(group, own.size + 1, own.size)
    this.#groups.delete(group)
    if (own.size > 0) this.#groups.set(group, own) // to the end of the order
    this.#size -= 1
    return true
  }

  /** Yields all, by group. */
  *all(): Generator<T> {
    for (const own of this.#groups.values()) yield* own
  }

  /** Yields the first one of each group, in turns. */
  *heads(): Generator<T> {
    for (const [one] of this.#groups.values()) if (one) yield one
  }

  /** Returns the one to evict after `newest` was added: the oldest or newest of a largest group; undefined below `max`. */
  surplus(newest: T, which: 'oldest' | 'newest'): T | undefined {
    if (this.#size <= this.#max) return undefined
    const largest = this.#bySize.at(-1) ?? new Set()
    if (which === 'newest' && largest.has(this.#groupOf(newest))) return newest
    const [group = ''] = largest
    const own = this.#groups.get(group) ?? new Set()
    return which === 'newest' ? [...own].at(-1) : own.values().next().value
  }

  #resized(group: string, from: number, to: number): void {
    this.#bySize[from]?.delete(group)
    if (to > 0) this.#bySize[to] = (this.#bySize[to] ?? new Set()).add(group)
    while (this.#bySize.length > 0 && !this.#bySize.at(-1)?.size) this.#bySize.pop()
  }
}
