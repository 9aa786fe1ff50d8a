// The addresses of target names, from the answers of the agent.
import type { EngineEvent, Resolved } from '../engine/engine.ts'

const maxNames = 4_096

interface Known {
  readonly answer: Resolved
  readonly freshUntil: number // ms, by performance.now()
  readonly usableUntil: number
  isAskedAgain: boolean
}

export class TargetNames {
  readonly #emit: (event: EngineEvent) => void
  readonly #questions = new Map<number, (answer: Resolved) => void>() // by token
  readonly #known = new Map<string, Known>()
  #lastToken = 0

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit
  }

  async resolve(ruleId: number, host: string): Promise<Resolved> {
    const known = this.#known.get(host)
    if (!known || performance.now() >= known.usableUntil) return this.#ask(ruleId, host)
    if (performance.now() >= known.freshUntil && !known.isAskedAgain) {
      known.isAskedAgain = true
      void this.#ask(ruleId, host)
    }
    return known.answer
  }

  answered(token: number, answer: Resolved): void {
    this.#questions.get(token)?.(answer)
    this.#questions.delete(token)
  }

  /** Drops the open questions: no dial waits for them. */
  stop(): void {
    this.#questions.clear()
  }

  async #ask(ruleId: number, host: string): Promise<Resolved> {
    const { promise, resolve } = Promise.withResolvers<Resolved>()
    const token = ++this.#lastToken
    this.#questions.set(token, resolve)
    this.#emit({ kind: 'resolve', token, ruleId, host })
    const answer = await promise
    this.#store(host, answer)
    return answer
  }

  #store(host: string, answer: Resolved): void {
    const { freshMs = 0, usableMs = 0 } = answer
    const now = performance.now()
    this.#known.delete(host)
    if (usableMs <= 0) return
    if (this.#known.size >= maxNames)
      for (const [name, { usableUntil }] of this.#known) if (now >= usableUntil) this.#known.delete(name)
    if (this.#known.size >= maxNames) return
    this.#known.set(host, {
      answer,
      freshUntil: now + freshMs,
      usableUntil: now + usableMs,
      isAskedAgain: false
    })
  }
}
