// The spans that wait for the collector. Payers share the places: beyond the bound, the one with the most loses its oldest.
import { FairEviction } from '../../agent/net/fair-eviction.ts'
import type { RecordedSpan } from './otlp-json.ts'

const maxWaiting = 1536 // beside a batch of 512 that is being sent

export class SpanQueue {
  readonly #waiting: FairEviction<RecordedSpan>
  readonly #dropped: () => void

  /** Calls `dropped` for each span that loses its place. */
  constructor(dropped: () => void, max = maxWaiting) {
    this.#waiting = new FairEviction(max, ({ payer }) => payer)
    this.#dropped = dropped
  }

  get size(): number {
    return this.#waiting.size
  }

  add(span: RecordedSpan): void {
    this.#waiting.add(span)
    const surplus = this.#waiting.surplus(span, 'oldest')
    if (!surplus) return
    this.#waiting.delete(surplus)
    this.#dropped()
  }

  /** Removes and returns at most `count` spans, of each payer in turn. */
  take(count: number): RecordedSpan[] {
    const taken: RecordedSpan[] = []
    while (taken.length < count && this.#waiting.size > 0)
      for (const span of [...this.#waiting.heads()].slice(0, count - taken.length)) {
        this.#waiting.delete(span)
        taken.push(span)
      }
    return taken
  }
}
