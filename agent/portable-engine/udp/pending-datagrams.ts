// Datagrams that wait for their target: the first always does, what follows as far as it fits.
const maxDatagrams = 64
const maxBytes = 64 * 1024

export interface Kept {
  add(bytes: Buffer): void
  /** Gives them, oldest first, and forgets them. */
  take(): readonly Buffer[]
}

export function openKept(): Kept {
  let kept: Buffer[] = []
  let total = 0
  return {
    add(bytes) {
      const fits = kept.length < maxDatagrams && total + bytes.length <= maxBytes
      if (!fits && kept.length > 0) return
      kept.push(bytes)
      total += bytes.length
    },
    take() {
      const all = kept
      kept = []
      total = 0
      return all
    }
  }
}
