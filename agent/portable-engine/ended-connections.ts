// Records of ended connections and flows, for rules with `reportEnds`.
import type { EndedConnection } from '../engine/ended-connection.ts'
import type { EngineEvent } from '../engine/engine.ts'

/** How long a record waits for others to share its batch. */
const delayMs = 100

/** Sends records in batches. Loses none: they are created and received on one thread. */
export class EndedConnections {
  readonly #emit: (event: EngineEvent) => void
  #batch: EndedConnection[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit
  }

  add(ended: EndedConnection): void {
    this.#batch.push(ended)
    this.#timer ??= setTimeout(() => this.flush(), delayMs)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const ended = this.#batch
    if (ended.length === 0) return
    this.#batch = []
    this.#emit({ kind: 'connections-ended', ended, lost: 0 })
  }
}
