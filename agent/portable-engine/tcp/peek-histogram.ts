import { peekBoundsMs, type Sample } from '../../engine/engine.ts'

/** How long callers on shared ports took to send their ClientHello. */
export class PeekHistogram {
  readonly #counts = [...peekBoundsMs.map(() => 0), 0]
  #sumMs = 0

  add(ms: number): void {
    const found = peekBoundsMs.findIndex(bound => ms <= bound)
    const bucket = found < 0 ? peekBoundsMs.length : found
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sumMs += ms
  }

  sample(): Sample['peekDurations'] {
    return { counts: [...this.#counts], sumMs: this.#sumMs }
  }
}
