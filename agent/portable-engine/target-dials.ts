// The dials of targets that a plugin of the agent dials: each is a 'dial' event, until the agent answers.
import type { Duplex } from 'node:stream'
import { checkDialAnswer, type DialAnswer, type DialRequest } from '../engine/dial-request.ts'
import type { EngineEvent } from '../engine/engine.ts'

/** An answer, and the function that takes the agent's end of the connection, to be called once; null: it gets none. */
export interface AnsweredDial {
  readonly answer: DialAnswer
  readonly give: (stream: Duplex | null) => void
}

export type AskForDial = (
  request: Omit<DialRequest, 'kind' | 'token'>,
  signal: AbortSignal
) => Promise<AnsweredDial | null>

export class TargetDials {
  readonly #emit: (event: EngineEvent) => void
  readonly #waiting = new Map<number, (answered: AnsweredDial) => void>() // by token
  #lastToken = 0

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit
  }

  /** Returns the agent's answer; null: the signal has ended the wait. */
  readonly ask: AskForDial = (request, signal) => {
    if (signal.aborted) return Promise.resolve(null)
    const { promise, resolve } = Promise.withResolvers<AnsweredDial | null>()
    const token = ++this.#lastToken
    const onAbort = () => {
      this.#waiting.delete(token)
      this.#emit({ kind: 'dial-canceled', token })
      resolve(null)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting.set(token, answered => {
      signal.removeEventListener('abort', onAbort)
      resolve(answered)
    })
    this.#emit({ kind: 'dial', token, ...request })
    return promise
  }

  async answered(token: number, answer: DialAnswer): Promise<Duplex | null> {
    checkDialAnswer(answer)
    const waiting = this.#waiting.get(token)
    if (!waiting) return null
    this.#waiting.delete(token)
    const { promise, resolve: give } = Promise.withResolvers<Duplex | null>()
    waiting({ answer, give })
    return promise
  }
}
