// Records of ended connections and flows, for the rules that ask for them.
import type { EndedConnection } from '../engine/ended-connection.ts'
import type { EngineEvent } from '../engine/engine.ts'

/** A record waits this long for others, so that a batch has more than one. */
const delayMs = 100

/** Sends records in batches. None is lost here: they are made on the thread that takes them. */
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
