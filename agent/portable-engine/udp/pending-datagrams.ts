const maxDatagrams = 64
const maxBytes = 64 * 1024

/** Datagrams of a flow whose target is not connected yet: always the first, further ones as long as they fit. */
export class PendingDatagrams {
  #datagrams: Buffer[] = []
  #totalBytes = 0

  add(bytes: Buffer): void {
    const fits = this.#datagrams.length < maxDatagrams && this.#totalBytes + bytes.length <= maxBytes
    if (!fits && this.#datagrams.length > 0) return
    this.#datagrams.push(bytes)
    this.#totalBytes += bytes.length
  }

  /** Removes and returns all, oldest first. */
  takeAll(): readonly Buffer[] {
    const all = this.#datagrams
    this.#datagrams = []
    this.#totalBytes = 0
    return all
  }
}
