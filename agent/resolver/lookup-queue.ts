// Shares the DNS lookups among the owners of rules: each owner has a line, and the lines take turns.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Resolved } from '../engine/engine.ts'

const maxInFlight = 64
const maxWaiting = 256 // names of one owner
const maxWaitMs = 3_000

export interface Question {
  readonly name: string
  readonly owner: string
  /** True if no server answered the last lookup. Such names start last, and take few of the places. */
  readonly isSilent: boolean
}

interface Options {
  readonly clock: Pick<Clock, 'after'>
  /** Looks a name up. Never rejects. */
  readonly lookUp: (name: string, owner: string) => Promise<Resolved>
}

interface Line {
  inFlight: number // lookups that this owner started
  readonly waiting: Map<string, Waiter> // by name
  readonly silent: Map<string, Waiter>
}

interface Waiter extends Pick<PromiseWithResolvers<Resolved>, 'promise' | 'resolve'> {
  readonly question: Question
  readonly stopTimer: Release
}

const overloaded: Resolved = { ok: false, reason: 'overloaded' }

export class LookupQueue {
  readonly #options: Options
  readonly #inFlight = new Map<string, Promise<Resolved>>() // by name
  readonly #lines = new Map<string, Line>() // by owner; the one served longest ago is first
  readonly #waiters = new Map<string, Set<Waiter>>() // by name

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Looks the name up when it is the owner's turn. A name has one lookup at a time, which answers all who ask. The answer
   * is 'overloaded' after 3 s in line, or at once if 256 names of the owner are in line.
   */
  ask(question: Question): { readonly isWaiting: boolean; readonly answer: Promise<Resolved> } {
    const { name, owner, isSilent } = question
    const running = this.#inFlight.get(name)
    if (running) return { isWaiting: false, answer: running }
    const line = this.#lineOf(owner)
    const isFirst = line.waiting.size === 0 && (!isSilent || line.silent.size === 0)
    if (isFirst && this.#mayStart(line, isSilent)) return { isWaiting: false, answer: this.#start(question) }
    return { isWaiting: true, answer: this.#enter(line, question) }
  }

  /**
   * An owner takes at most as many places as it leaves free, so that others find one. Names without an answer hold their
   * place for seconds: they leave four times as many.
   */
  #mayStart({ inFlight }: Line, isSilent: boolean): boolean {
    const free = maxInFlight - this.#inFlight.size
    return inFlight < (isSilent ? free / 4 : free)
  }

  #start({ name, owner }: Question): Promise<Resolved> {
    const line = this.#lineOf(owner)
    line.inFlight++
    this.#lines.delete(owner) // to the end of the order
    this.#lines.set(owner, line)
    const answer = this.#options.lookUp(name, owner).then(found => {
      this.#inFlight.delete(name)
      line.inFlight--
      this.#removeIfEmpty(owner, line)
      this.#startWaiting()
      return found
    })
    this.#inFlight.set(name, answer)
    for (const waiter of [...(this.#waiters.get(name) ?? [])]) {
      this.#leave(waiter)
      waiter.resolve(answer)
    }
    return answer
  }

  #startWaiting(): void {
    for (let next = this.#next(); next; next = this.#next()) void this.#start(next)
  }

  /** Passes over owners that may not start: they have lookups in flight, so they are at most 64. */
  #next(): Question | undefined {
    for (const line of this.#lines.values()) {
      const [waiter] = line.waiting.values()
      const [silent] = line.silent.values()
      if (waiter && this.#mayStart(line, false)) return waiter.question
      if (silent && this.#mayStart(line, true)) return silent.question
    }
    return undefined
  }

  #enter(line: Line, question: Question): Promise<Resolved> {
    const { name, isSilent } = question
    const known = line.waiting.get(name) ?? line.silent.get(name)
    if (known) return known.promise
    if (line.waiting.size + line.silent.size >= maxWaiting) return Promise.resolve(overloaded)
    const stopTimer = this.#options.clock.after(maxWaitMs, () => {
      this.#leave(waiter)
      waiter.resolve(overloaded)
    })
    const waiter: Waiter = { ...Promise.withResolvers<Resolved>(), question, stopTimer }
    line[isSilent ? 'silent' : 'waiting'].set(name, waiter)
    this.#waiters.set(name, (this.#waiters.get(name) ?? new Set()).add(waiter))
    return waiter.promise
  }

  #leave(waiter: Waiter): void {
    const { name, owner, isSilent } = waiter.question
    waiter.stopTimer()
    const line = this.#lineOf(owner)
    line[isSilent ? 'silent' : 'waiting'].delete(name)
    this.#removeIfEmpty(owner, line)
    const others = this.#waiters.get(name)
    others?.delete(waiter)
    if (others?.size === 0) this.#waiters.delete(name)
  }

  #lineOf(owner: string): Line {
    const line = this.#lines.get(owner) ?? { inFlight: 0, waiting: new Map(), silent: new Map() }
    this.#lines.set(owner, line)
    return line
  }

  #removeIfEmpty(owner: string, { inFlight, waiting, silent }: Line): void {
    if (inFlight + waiting.size + silent.size === 0) this.#lines.delete(owner)
  }
}
