// The addresses of target names, from the answers of the agent. Each rule has its own, as many as its targets.
import type { EngineEvent, Resolved } from '../engine/engine.ts'

interface Known {
  readonly answer: Resolved
  readonly freshUntil: number // ms, by performance.now()
  readonly usableUntil: number
  isAskedAgain: boolean
}

export class TargetNames {
  readonly #emit: (event: EngineEvent) => void
  readonly #questions = new Map<number, (answer: Resolved) => void>() // by token
  readonly #known = new Map<number, Map<string, Known>>() // by rule, then by host
  #lastToken = 0

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit
  }

  async resolve(ruleId: number, host: string): Promise<Resolved> {
    const known = this.#known.get(ruleId)?.get(host)
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

  /** Called when the rule has ended. */
  forget(ruleId: number): void {
    this.#known.delete(ruleId)
  }

  /** Drops the open questions: no dial waits for them. */
  stop(): void {
    this.#questions.clear()
  }

  async #ask(ruleId: number, host: string): Promise<Resolved> {
    const { promise, resolve } = Promise.withResolvers<Resolved>()
    const token = ++this.#lastToken
    const known = this.#known.get(ruleId) ?? new Map<string, Known>()
    this.#known.set(ruleId, known)
    this.#questions.set(token, resolve)
    this.#emit({ kind: 'resolve', token, ruleId, host })
    const answer = await promise
    const { freshMs = 0, usableMs = 0 } = answer
    const now = performance.now()
    if (usableMs <= 0) known.delete(host)
    else
      known.set(host, {
        answer,
        freshUntil: now + freshMs,
        usableUntil: now + usableMs,
        isAskedAgain: false
      })
    return answer
  }
}
