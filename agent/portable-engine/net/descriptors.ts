import { readdirSync, readFileSync } from 'node:fs'

/** Kept free for everything but forwarded traffic: files, the control stream, dial attempts that overlap. */
const spareDescriptors = 64

/** Counts the file descriptors of one engine, so that it refuses traffic before the process runs out of them. */
export class Descriptors {
  readonly #capacity = softLimit() - openCount() - spareDescriptors
  #taken = 0

  /** Returns false, and takes nothing, when there are not enough. */
  take(count: number): boolean {
    if (this.#taken + count > this.#capacity) return false
    this.#taken += count
    return true
  }

  give(count: number): void {
    this.#taken -= count
  }
}

// Only Linux shows both numbers without an addon. Elsewhere the limit shows as failed accepts and dials.
function softLimit(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

const openCount = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
