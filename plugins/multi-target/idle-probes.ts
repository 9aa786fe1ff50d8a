// Probes the first target of rules without traffic, so that its health is known before the next caller comes. The results
// do not change which target callers get: only callers and health checks do.
import type { AgentCall, ProbedChange, RuleSpec } from '../../agent/plugin.ts'
import { field } from './field.ts'
import { openProbeQueue } from './probe-queue.ts'
import { targetKey } from './wire.ts'

const periodMs = 30_000 // between two probes of a rule, and without traffic before the first one
const firstMs = 25_000 // a new rule is probed within this time, so that the result is known after 30 s

export type RuleCounters = ReturnType<AgentCall['takeSample']>['rules'][number]

/** The newest run of each rule in the engine, by rule id. */
export type Runs = ReadonlyMap<string, { readonly spec: RuleSpec; readonly counters: RuleCounters }>

type Health = ProbedChange['to']

/** The results of the probes of a rule's first target. */
export interface Probed {
  /** The last result; null: an attempt of a caller or a health check is newer. */
  readonly result: { readonly failure: string | null } | null
  readonly failures: number // in a row, of attempts and probes
  readonly lastFailureAt: number | null // ms since 1970
  readonly lastSuccessAt: number | null
}

interface Watched {
  spec: RuleSpec
  readonly target: string // its key
  run: number // id in the engine; 0: not seen
  counted: Counted
  attemptAt: number // monotonic: when the last attempt with a result was seen
  bytesAt: number // monotonic: when the last traffic was seen
  probeAt: number // monotonic
  isQueued: boolean
  isUp: boolean | null // by the last attempt or probe
  shown: Health // as logged last
  probed: Probed
}

interface Counted {
  readonly failures: number // of all targets
  readonly connects: number
  readonly bytes: number
  readonly firstFailures: number // of the first target
  readonly firstConnects: number
}

const nothing: Probed = { result: null, failures: 0, lastFailureAt: null, lastSuccessAt: null }
const none: Counted = { failures: 0, connects: 0, bytes: 0, firstFailures: 0, firstConnects: 0 }

export class IdleProbes {
  readonly #call: AgentCall
  readonly #random: () => number
  readonly #queue = openProbeQueue()
  readonly #watched = new Map<string, Watched>() // by rule id
  #reached = 0
  #failed = 0
  #hasNews = false

  constructor(call: AgentCall, random: () => number = Math.random) {
    this.#call = call
    this.#random = random
  }

  /** Follows the traffic of the rules that the agent has. Call it every few seconds. */
  observe(runs: Runs): void {
    const { rules, paths } = this.#call
    const closed = rules.closed()
    const isProbed = ({ id, protocol, fields }: RuleSpec): boolean =>
      paths.mayProbeIdle() && protocol === 'tcp' && !(field.key in fields) && !closed.has(id)
    for (const id of this.#watched.keys()) {
      const spec = runs.get(id)?.spec
      if (!spec || !isProbed(spec)) this.#watched.delete(id)
    }
    for (const { spec, counters } of runs.values()) if (isProbed(spec)) this.#follow(spec, counters)
  }

  /** Queues the probes that are due. Call it every second. */
  tick(): void {
    const now = this.#call.clock.monotonic()
    for (const one of this.#watched.values()) {
      if (one.probeAt > now) continue
      one.probeAt += Math.ceil((now - one.probeAt + 1) / periodMs) * periodMs
      if (one.isQueued || !isQuiet(one, now)) continue
      one.isQueued = true
      const isSlow = one.probed.result?.failure?.endsWith('timeout') ?? false
      this.#queue.add({ owner: one.spec.owner, isSlow, run: () => this.#probe(one) })
    }
  }

  /** Called when callers or health checks have changed the health of a rule's first target. */
  changed(ruleId: string, to: Health): void {
    const one = this.#watched.get(ruleId)
    if (one) one.shown = to
  }

  /** Returns true if probes have reported changes since the last call. */
  takeNews(): boolean {
    const hasNews = this.#hasNews
    this.#hasNews = false
    return hasNews
  }

  find(ruleId: string): Probed | undefined {
    return this.#watched.get(ruleId)?.probed
  }

  counts(): { readonly reached: number; readonly failed: number; readonly waiting: number } {
    return { reached: this.#reached, failed: this.#failed, waiting: this.#queue.waitingCount() }
  }

  stop(): void {
    this.#watched.clear()
    this.#queue.clear()
  }

  #follow(spec: RuleSpec, counters: RuleCounters): void {
    const [first] = spec.targets
    if (!first) return
    const now = this.#call.clock.monotonic()
    const one = this.#watch(spec, targetKey(first), now)
    const { failures, firstFailures } = one.counted
    // The counters of a new run start at 0, except those of failures.
    const before = one.run === counters.ruleId ? one.counted : { ...none, failures, firstFailures }
    const after = countedIn(counters)
    if (after.failures !== before.failures || after.connects !== before.connects) one.attemptAt = now
    if (after.bytes !== before.bytes) one.bytesAt = now
    const hasTried =
      after.firstFailures !== before.firstFailures || after.firstConnects !== before.firstConnects
    if (one.run === 0 || hasTried) this.#settle(one, counters)
    one.run = counters.ruleId
    one.counted = after
  }

  #watch(spec: RuleSpec, target: string, now: number): Watched {
    const known = this.#watched.get(spec.id)
    const one = known?.target === target ? known : newWatched(spec, target, now + this.#random() * firstMs)
    one.spec = spec
    this.#watched.set(spec.id, one)
    return one
  }

  /** Prefers the health by the engine's attempts to that by probes, if it has any. */
  #settle(one: Watched, { targets: [first] }: RuleCounters): void {
    if (!first || (first.consecutiveFailures === 0 && first.lastSuccessAt === null)) return
    one.isUp = first.consecutiveFailures === 0
    one.probed = { ...one.probed, result: null, failures: first.consecutiveFailures }
    if (one.isUp && first.health !== 'failed') this.#report(one, 'healthy', 'connected')
  }

  async #probe(one: Watched): Promise<void> {
    const { clock, paths } = this.#call
    const { id } = one.spec
    const isDue = (): boolean => this.#watched.get(id) === one && isQuiet(one, clock.monotonic())
    const outcome = isDue() ? await paths.probe(id) : null
    one.isQueued = false
    if (outcome === null || !isDue()) return
    const { failure } = outcome
    const at = clock.now()
    if (failure === null) {
      this.#reached++
      one.probed = { ...one.probed, result: { failure }, failures: 0, lastSuccessAt: at }
    } else {
      this.#failed++
      const failures = one.probed.failures + 1
      one.probed = { ...one.probed, result: { failure }, failures, lastFailureAt: at }
    }
    one.isUp = failure === null
    this.#report(one, one.isUp ? 'healthy' : 'failed', failure ?? 'connected')
  }

  /** Reports a change. That a target is up is no news unless it was down. */
  #report(one: Watched, to: Health, reason: string): void {
    const from = one.shown
    if (from === to || (from === 'unknown' && to === 'healthy')) return
    one.shown = to
    this.#hasNews = true
    this.#call.rules.reportProbe(one.spec.id, { target: 0, from, to, reason })
  }
}

const newWatched = (spec: RuleSpec, target: string, probeAt: number): Watched => ({
  spec,
  target,
  run: 0,
  counted: none,
  attemptAt: Number.NEGATIVE_INFINITY,
  bytesAt: Number.NEGATIVE_INFINITY,
  probeAt,
  isQueued: false,
  isUp: null,
  shown: 'unknown',
  probed: nothing
})

/** Bytes of old connections do not say that a target that has refused the last attempt takes new ones. */
const isQuiet = ({ attemptAt, bytesAt, isUp }: Watched, now: number): boolean =>
  now - attemptAt >= periodMs && (now - bytesAt >= periodMs || isUp !== true)

function countedIn({ targets, ports }: RuleCounters): Counted {
  const [first] = targets
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    failures: sum(targets.map(({ failures }) => failures)),
    connects: sum(targets.map(({ connects }) => connects)),
    bytes: sum(ports.map(({ bytesIn, bytesOut }) => bytesIn + bytesOut)),
    firstFailures: first?.failures ?? 0,
    firstConnects: first?.connects ?? 0
  }
}
