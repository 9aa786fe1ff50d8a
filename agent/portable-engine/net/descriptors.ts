import { readdirSync, readFileSync } from 'node:fs'

/** Kept free for files, the control stream and overlapping dial attempts. */
const spareDescriptors = 64

/** Counts the descriptors that the engine may still open, so that it refuses traffic before EMFILE. */
export class Descriptors {
  readonly #capacity = softLimit() - openCount() - spareDescriptors
  #reserved = 0

  /** Reserves all of `count`, or returns false and reserves none. */
  reserve(count: number): boolean {
    if (this.#reserved + count > this.#capacity) return false
    this.#reserved += count
    return true
  }

  /** True while at least half of them are free. */
  get arePlenty(): boolean {
    return this.#reserved * 2 < this.#capacity
  }

  release(count: number): void {
    this.#reserved -= count
  }
}

// Only Linux shows both numbers without an addon. Elsewhere accepts and dials fail at the limit.
function softLimit(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

const openCount = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
