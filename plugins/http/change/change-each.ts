// Several changes in one request, each with its audit entry.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../../kernel/base/errors.ts'
import type { Call, Resource, Work } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { requireScope, scopeOf } from '../scopes.ts'
import { faultOf } from '../server/error-body.ts'
import type { ActCall } from './act-without-request.ts'
import { type Decision, decisionAbout, isUnavailable, type Recorder } from './decision.ts'
import type { NameRecords } from './record-names.ts'

/** One of several changes, equivalent to a separate request. */
export interface Part {
  readonly action: string // 'rule.delete', in the audit log
  readonly status: number // of the separate request on success
  run(call: ActCall): Promise<unknown>
}

/** The reason for a refusal, or null for success. */
export type PartResult = Fault | null

interface EachOptions {
  /** Runs all parts in one transaction, and throws the first refusal as `PartRefused`. Otherwise parts are independent. */
  readonly isAtomic: boolean
  /** A dry run: runs every part, then rolls back. */
  readonly isRehearsal: boolean
  readonly resource: Resource // of the request's own entry
}

/**
 * Runs the parts in order and returns their results in the same order. Each part calls `change` once and can then wait for
 * an agent; all parts wait at the same time.
 */
export type ChangeEach = (
  call: Pick<Call, 'principal' | 'requestInfo' | 'requestId' | 'change'>,
  parts: readonly Part[],
  options: EachOptions
) => Promise<readonly PartResult[]>

export class PartRefused extends Error {
  readonly at: number // index of the part
  readonly fault: Fault

  constructor(at: number, fault: Fault, cause: unknown = fault) {
    super(fault.message, { cause })
    this.at = at
    this.fault = fault
  }
}

interface Deps extends Pick<Kernel, 'clock' | 'store' | 'log'> {
  readonly recorder: Recorder
  readonly nameRecords: NameRecords
}

// Per transaction, since other changes wait for it:
const partsAtOnce = 8
const mostMs = 20 // unless it is atomic: then the other parts take another transaction
const rehearsedAtOnce = 64 // of an atomic change: a conflict of two parts is found only within a transaction

const turnMs = 10 // a transaction of the embedded store does not yield to the event loop

const transactionSize = ({ isAtomic, isRehearsal }: EachOptions): number =>
  isAtomic ? (isRehearsal ? rehearsedAtOnce : Number.POSITIVE_INFINITY) : partsAtOnce

export const openChangeEach =
  (deps: Deps): ChangeEach =>
  async (call, parts, options) => {
    const size = transactionSize(options)
    const results: Promise<PartResult>[] = []
    try {
      for (let first = 0; first < parts.length; first += size) {
        const group = new Group(deps, call, options)
        for await (const ended of group.run(parts.slice(first, first + size), first)) results.push(...ended)
      }
    } catch (error) {
      await Promise.allSettled(results) // transactions before the failed one are committed, and their refusals are recorded
      throw error
    }
    return Promise.all(results)
  }

/** A requested change of a part, which waits for the transaction of its group. */
interface QueuedChange {
  readonly of: Resource | ((made: never) => Resource)
  readonly work: Work<unknown>
  readonly resolve: (made: never) => void
  readonly reject: (error: unknown) => void
}

interface BegunPart {
  readonly part: Part
  readonly at: number // index in the request
  readonly asked: QueuedChange | null // null: it was refused before
  readonly result: Promise<PartResult>
}

interface Made {
  readonly result: unknown
  readonly decision: Decision
}

interface RefusedChange {
  readonly fault: Fault
  readonly error: unknown // the fault, or its cause
}

type Outcome = Made | RefusedChange | null // null: the part was refused before it requested a change

const isRefused = (outcome: Outcome): outcome is RefusedChange => outcome !== null && 'fault' in outcome

/** Rolls back a transaction and ends the parts that take part in it. */
class Undone extends Error {
  readonly outcomes: readonly Outcome[]

  constructor(outcomes: readonly Outcome[] = []) {
    super('the change is rolled back')
    this.outcomes = outcomes
  }
}

/** The parts of one transaction. */
class Group {
  readonly #deps: Deps
  readonly #call: Parameters<ChangeEach>[0]
  readonly #options: EachOptions

  constructor(deps: Deps, call: Parameters<ChangeEach>[0], options: EachOptions) {
    this.#deps = deps
    this.#call = call
    this.#options = options
  }

  /**
   * Yields the results of the parts after each transaction, so that a later one that fails loses none. A result can wait for
   * an agent.
   */
  async *run(parts: readonly Part[], first: number): AsyncGenerator<Promise<PartResult>[]> {
    const begun = await Promise.all(parts.map((part, at) => this.#start(part, first + at)))
    for (let rest = begun; rest.length > 0; ) {
      const made = await this.#change(rest).catch((error: unknown) => {
        if (error instanceof Undone && this.#options.isRehearsal) return error.outcomes
        for (const { at, asked } of rest)
          asked?.reject(error instanceof PartRefused && error.at === at ? error.cause : new Undone())
        throw error
      })
      const ended = rest.slice(0, made.length).map((part, i) => {
        const outcome = made[i] ?? null
        this.#settle(part.asked, outcome)
        return this.#end(part, outcome)
      })
      for (const result of ended) result.catch(() => {}) // the caller awaits it later
      yield ended
      rest = rest.slice(made.length)
    }
  }

  /** Waits for the result of a part, and records a refusal. */
  async #end({ part, result }: BegunPart, outcome: Outcome): Promise<PartResult> {
    const refusal = await result
    const made = outcome && 'decision' in outcome ? outcome.decision : null
    if (refusal && !this.#options.isRehearsal) await this.#recordRefusal(part, refusal, made)
    return refusal && this.#deps.nameRecords(refusal)
  }

  /** Runs a part until it requests its change or is refused. */
  async #start(part: Part, at: number): Promise<BegunPart> {
    const asked = Promise.withResolvers<QueuedChange | null>()
    const change = (of: QueuedChange['of'], work: Work<unknown>) =>
      new Promise((resolve, reject) => asked.resolve({ of, work, resolve, reject }))
    const { principal } = this.#call
    const run = async (): Promise<unknown> => {
      requireScope(principal, () => [scopeOf(part.action, 'write')])
      return part.run({ principal, change: change as ActCall['change'] })
    }
    const result = run()
      .then(
        () => null,
        (error: unknown) => (error instanceof Undone ? null : this.#faultOf(error))
      )
      .finally(() => asked.resolve(null))
    return { part, at, asked: await asked.promise, result }
  }

  /** Makes changes in one transaction. Returns the outcomes of all, or of the first ones if they took long. */
  async #change(begun: readonly BegunPart[]): Promise<readonly Outcome[]> {
    const { isAtomic, isRehearsal, resource } = this.#options
    const { clock } = this.#deps
    return this.#call.change(resource, async em => {
      const outcomes: Outcome[] = []
      const startedAt = clock.monotonic()
      let turnAt = startedAt
      for (const { part, at, asked, result } of begun) {
        const outcome = asked ? await this.#make(part, asked, em) : null
        const unasked = asked ? null : await result
        if (isAtomic && unasked) throw new PartRefused(at, unasked)
        if (isAtomic && isRefused(outcome)) throw new PartRefused(at, outcome.fault, outcome.error)
        outcomes.push(outcome)
        const now = clock.monotonic()
        if (!isAtomic && now - startedAt > mostMs) break
        if (now - turnAt < turnMs) continue
        await setImmediate()
        turnAt = clock.monotonic()
      }
      if (isRehearsal) throw new Undone(outcomes)
      return outcomes
    })
  }

  /** Makes one change and its entry in a savepoint, which a refusal rolls back. */
  async #make(part: Part, { of, work }: QueuedChange, em: EntityManager): Promise<Made | RefusedChange> {
    try {
      return await em.transactional(async em => {
        const result = await work(em)
        const changed = typeof of === 'function' ? of(result as never) : of
        const decision = this.#decisionOn(part, { status: part.status, reason: null, resource: changed })
        return { result, decision: await this.#deps.recorder.write(decision, em) }
      })
    } catch (error) {
      return { error, fault: faultOf(error, this.#call.requestId) } // the waiting part logs it: this may be retried
    }
  }

  #settle(asked: QueuedChange | null | undefined, outcome: Outcome): void {
    if (isRefused(outcome)) asked?.reject(outcome.error)
    else if (this.#options.isRehearsal) asked?.reject(new Undone())
    else if (outcome) asked?.resolve(outcome.result as never)
  }

  async #recordRefusal(part: Part, { errorCode }: Fault, decision: Decision | null): Promise<void> {
    const { store, recorder } = this.#deps
    const { http: status, code: reason } = errorCode
    if (!recorder.isNeeded() || isUnavailable(status, reason)) return
    const made = this.#decisionOn(part, { status, reason, resource: null }) // once, even if the change is retried
    await store.change(em =>
      decision ? recorder.complete(decision, status, reason, em) : recorder.write(made, em)
    )
  }

  #decisionOn(
    { action }: Part,
    outcome: Pick<Parameters<typeof decisionAbout>[1], 'status' | 'reason' | 'resource'>
  ) {
    return decisionAbout(this.#call, { ...outcome, action, timestamp: this.#deps.clock.now() })
  }

  /** Logs errors that are no Faults: the caller learns only the request id. */
  #faultOf(error: unknown): Fault {
    const fault = faultOf(error, this.#call.requestId)
    if (fault !== error)
      this.#deps.log.error('request.failed', 'a part of a request failed', {
        request_id: this.#call.requestId,
        error: error instanceof Error ? error.stack : String(error)
      })
    return fault
  }
}
