interface Entry {
  readonly key: string
  readonly at: number
}

const minEntries = 64

/** Keys by the time when each is due. All operations take logarithmic time. */
export class DueTimes {
  readonly #times = new Map<string, number>()
  /** A binary heap, the earliest first. An entry is stale if its key has another time or none. */
  #heap: Entry[] = []

  /** Sets or replaces the time of a key. */
  set(key: string, at: number): void {
    this.#times.set(key, at)
    this.#push({ key, at })
    if (this.#heap.length > 2 * this.#times.size + minEntries) this.#dropStale()
  }

  delete(key: string): void {
    this.#times.delete(key)
  }

  /** Returns the earliest time, or null if there is none. */
  next(): number | null {
    for (let first = this.#heap[0]; first; first = this.#heap[0]) {
      if (this.#times.get(first.key) === first.at) return first.at
      this.#pop()
    }
    return null
  }

  /** Removes the key that is due first, and returns it; undefined if none is due at `now`. */
  takeDue(now: number): string | undefined {
    if ((this.next() ?? Number.POSITIVE_INFINITY) > now) return undefined
    const { key } = this.#pop()
    this.#times.delete(key)
    return key
  }

  #dropStale(): void {
    const current = this.#heap.filter(({ key, at }) => this.#times.get(key) === at)
    this.#heap = []
    for (const entry of current) this.#push(entry)
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    for (let above = (at - 1) >> 1; at > 0 && this.#at(above) > entry.at; above = (at - 1) >> 1) {
      heap[at] = heap[above] as Entry
      at = above
    }
    heap[at] = entry
  }

  /** Removes the first entry; there must be one. */
  #pop(): Entry {
    const heap = this.#heap
    const first = heap[0] as Entry
    const last = heap.pop() as Entry
    if (heap.length === 0) return first
    let at = 0
    for (let below = this.#earlierChild(at); this.#at(below) < last.at; below = this.#earlierChild(at)) {
      heap[at] = heap[below] as Entry
      at = below
    }
    heap[at] = last
    return first
  }

  #earlierChild(at: number): number {
    const left = 2 * at + 1
    return this.#at(left + 1) < this.#at(left) ? left + 1 : left
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY
  }
}
