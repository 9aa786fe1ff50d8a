// Decides from counters which targets of a rule to eject, and the shares of returning targets.
import type { Counters } from '../../agent/engine/engine.ts'

export type Observed = Pick<Counters['targets'][number], 'health' | 'failures' | 'connects' | 'connectMs'>

export interface Target {
  readonly name: string // host:port
  readonly tier: number
  readonly weight: number
  readonly observed: Observed | null // null: the engine has not counted yet
}

export interface Limits {
  readonly slowMs: number // 0: no target is ejected because it is slow
  readonly slowStartMs: number
  readonly keepsShares: boolean // callers that returned during a trial stay, so the share does not restart
}

/** The share of a target, or the end and reason of its ejection. */
export type Part = { readonly share: number } | { readonly reason: string; readonly untilMs: number }

const baseMs = 10_000
const maxMs = 300_000
const behavedMs = 60_000 // undoes one doubling
const windowMs = 10_000
const minConnects = 5 // in the window
const slowFactor = 3 // times the median of the others
const firstShare = 0.1

interface Moment {
  readonly at: number
  readonly connects: number
  readonly connectMs: number
}

interface State {
  out: { reason: string; until: number; isFailure: boolean } | null
  backAt: number // -Infinity: part of the rule from the start
  row: number // ejections in a row
  behavedAt: number
  failures: number // counted when it came back
  wasFailed: boolean
  reason: string // reason of its last failure
  hasReason: boolean // the reason belongs to the current failure
  window: readonly Moment[]
}

/** All times are monotonic, in ms. */
export class Outliers {
  readonly #states = new Map<string, State>() // by name of the target
  #isNew = true

  /** Sets the current targets. A target that joins others starts with a small share. */
  begin(names: readonly string[], now: number): void {
    for (const name of this.#states.keys()) if (!names.includes(name)) this.#states.delete(name)
    for (const name of names)
      if (!this.#states.has(name))
        this.#states.set(name, newState(this.#isNew ? Number.NEGATIVE_INFINITY : now))
    this.#isNew = false
  }

  /** Stores why a target failed, because counters do not show it. On a busy host the reason may come after the ejection. */
  failed(name: string, reason: string): void {
    const state = this.#states.get(name)
    if (!state) return
    Object.assign(state, { reason, hasReason: true })
    if (state.out?.isFailure) state.out.reason = reason
  }

  judge(targets: readonly Target[], limits: Limits, now: number): void {
    for (const target of targets) if (target.observed) this.#judgeHealth(target, target.observed, limits, now)
    if (limits.slowMs === 0) return
    for (const tier of Map.groupBy(targets, target => target.tier).values())
      this.#judgeSlowness(tier, limits, now)
  }

  /** Returns the share or ejection of each target. */
  parts(names: readonly string[], { slowStartMs }: Limits, now: number): Part[] {
    return names.map(name => {
      const { out, backAt } = this.#state(name)
      if (out) return { reason: out.reason, untilMs: out.until }
      if (slowStartMs === 0) return { share: 1 }
      return { share: Math.min(1, Math.max(firstShare, (now - backAt) / slowStartMs)) }
    })
  }

  #judgeHealth({ name }: Target, observed: Observed, { keepsShares }: Limits, now: number): void {
    const state = this.#state(name)
    const isFailed = observed.health === 'failed'
    if (observed.failures < state.failures) state.failures = 0 // counters of a new run of the rule
    if (state.out && (now >= state.out.until || (state.out.isFailure && !isFailed)))
      comeBack(state, observed, now)
    else if (!state.out && isFailed && observed.failures > state.failures && state.hasReason)
      eject(state, state.reason, now)
    else if (!state.out && !isFailed && state.wasFailed && !keepsShares) state.backAt = now
    state.wasFailed = isFailed
    state.hasReason = isFailed // counters may be ahead of the event with the reason: the next call has it
    if (state.out || isFailed || now - state.behavedAt < behavedMs) return
    state.row = Math.max(0, state.row - 1)
    state.behavedAt = now
  }

  /** Ejects targets that connect far slower than the others, slowest first, at most half of them. */
  #judgeSlowness(tier: readonly Target[], { slowMs }: Limits, now: number): void {
    const taking = tier.filter(({ weight }) => weight > 0)
    const isOut = ({ name, observed }: Target) => this.#state(name).out || observed?.health === 'failed'
    const serving = taking.filter(target => !isOut(target))
    const timed = serving
      .flatMap(({ name, observed }) => {
        const meanMs = observed && meanConnectMs(this.#state(name), observed, now)
        return meanMs == null ? [] : [{ name, meanMs }]
      })
      .toSorted((a, b) => b.meanMs - a.meanMs)
    let left = Math.floor(taking.length / 2) - (taking.length - serving.length)
    for (const [at, { name, meanMs }] of timed.entries()) {
      const others = timed.slice(at + 1).map(other => other.meanMs)
      const usual = others[Math.floor(others.length / 2)]
      if (left <= 0 || usual === undefined || meanMs < Math.max(slowFactor * usual, usual + slowMs)) return
      eject(this.#state(name), slow, now)
      left--
    }
  }

  #state(name: string): State {
    const state = this.#states.get(name)
    if (!state) throw new TypeError(`${name} is not a target of the rule`)
    return state
  }
}

const slow = 'slow_connect'

const newState = (backAt: number): State => ({
  out: null,
  backAt,
  row: 0,
  behavedAt: Math.max(0, backAt),
  failures: 0,
  wasFailed: false,
  reason: 'failed',
  hasReason: false,
  window: []
})

function eject(state: State, reason: string, now: number): void {
  const until = now + Math.min(maxMs, baseMs * 2 ** state.row)
  state.out = { reason, until, isFailure: reason !== slow }
  state.row = Math.min(state.row + 1, Math.ceil(Math.log2(maxMs / baseMs)))
}

function comeBack(state: State, { failures }: Observed, now: number): void {
  Object.assign(state, { out: null, backAt: now, behavedAt: now, failures, window: [] })
}

/** Returns the mean connect time in the window, or null if there were too few connects. */
function meanConnectMs(state: State, { connects, connectMs }: Observed, now: number): number | null {
  const newest = state.window.at(-1)
  if (newest && connects < newest.connects) state.window = [] // counters of a new run of the rule
  state.window = [...state.window.filter(({ at }) => now - at <= windowMs), { at: now, connects, connectMs }]
  const [first = { connects, connectMs }] = state.window
  const count = connects - first.connects
  return count < minConnects ? null : (connectMs - first.connectMs) / count
}
