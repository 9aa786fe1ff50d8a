const maxDatagrams = 64
const maxBytes = 64 * 1024

/** Buffers the datagrams of a flow until its target is connected: always the first, others as long as they fit. */
export class PendingDatagrams {
  #datagrams: Buffer[] = []
  #totalBytes = 0

  get count(): number {
    return this.#datagrams.length
  }

  /** Returns false when it is too much. */
  add(bytes: Buffer): boolean {
    const fits = this.#datagrams.length < maxDatagrams && this.#totalBytes + bytes.length <= maxBytes
    if (!fits && this.#datagrams.length > 0) return false
    this.#datagrams.push(bytes)
    this.#totalBytes += bytes.length
    return true
  }

  /** Removes and returns all, oldest first. */
  takeAll(): readonly Buffer[] {
    const all = this.#datagrams
    this.#datagrams = []
    this.#totalBytes = 0
    return all
  }
}
