// The engine's meters by key. A meter exists while a rule uses it, or limits or a budget are set.
import type { Budget, Engine, Meter, Sample } from '../engine/engine.ts'
import type { AgentMeters, MeterLimits, MeterState, MeterUse } from '../plugin.ts'

/** Closes a meter: new connections are refused for `reason`. */
export interface ClosedMeter {
  readonly reason: string
  readonly live: 'continue' | 'pause' | 'reset'
}

interface Entry {
  readonly key: string
  readonly id: number
  limits: MeterLimits
  refusals: Meter['refusals']
  budget: Budget | null
  closed: ClosedMeter | null // overrides the limit of connections and the budget
  rules: number // number of rules that use it
}

const unlimited: MeterLimits = { bytesIn: null, bytesOut: null, connections: null, newConnections: null }
const endlessMs = 2 ** 31 - 1
export const defaultRefusals: Meter['refusals'] = {
  connections: 'concurrent_connections',
  newConnections: 'new_connections_per_sec',
  bytes: 'bandwidth',
  budget: 'budget'
}

type MeterEngine = Pick<Engine, 'setMeter' | 'removeMeter' | 'setBudget'>

export class Meters implements AgentMeters {
  readonly #engine: MeterEngine
  readonly #entries = new Map<string, Entry>()
  readonly #keys = new Map<number, string>()
  #lastId = 0

  constructor(engine: MeterEngine) {
    this.#engine = engine
  }

  setLimits(key: string, limits: MeterLimits | null): void {
    const entry = this.#entry(key)
    const next = limits ?? unlimited
    this.#apply({ ...entry, limits: next })
    entry.limits = next
    this.#removeIfUnused(entry)
  }

  setBudget(key: string, budget: Budget | null): void {
    const isNew = !this.#entries.has(key)
    const entry = this.#entry(key)
    if (isNew) this.#apply(entry)
    if (!entry.closed || entry.closed.live === 'continue') this.#engine.setBudget(entry.id, budget)
    entry.budget = budget
    this.#removeIfUnused(entry)
  }

  /** Closes a meter that rules use. null opens it with its current limits and budget. */
  setClosed(key: string, closed: ClosedMeter | null): void {
    const entry = this.#entries.get(key)
    if (!entry) throw new TypeError(`no rule uses the meter ${key}`)
    entry.closed = closed
    this.#apply(entry)
    const isStopped = closed && closed.live !== 'continue'
    if (isStopped) this.#engine.setBudget(entry.id, null) // else a spent budget would keep its hold time
    this.#engine.setBudget(
      entry.id,
      isStopped ? { mark: 0, holdMs: closed.live === 'pause' ? endlessMs : 0 } : entry.budget
    )
  }

  isLimited(key: string): boolean {
    const entry = this.#entries.get(key)
    return entry !== undefined && hasLimits(entry)
  }

  totalBytes(key: string, { meters }: Sample): number {
    const id = this.#entries.get(key)?.id
    const counters = meters.find(meter => meter.id === id)
    return counters ? counters.bytesIn + counters.bytesOut : 0
  }

  keyOf = (meterId: number) => this.#keys.get(meterId)

  find(key: string, { meters }: Sample): MeterState | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    const { limits, budget, refusals } = entry
    return { limits, budget, refusals, counters: meters.find(({ id }) => id === entry.id) ?? null }
  }

  /** Adds a rule to its meters and returns their engine ids. Each `join` needs one `leave`. */
  join(uses: readonly MeterUse[]): readonly number[] {
    return uses.map(({ key, refusals }) => {
      const entry = this.#entry(key)
      entry.refusals = refusals
      entry.rules++
      this.#apply(entry)
      return entry.id
    })
  }

  leave(uses: readonly MeterUse[]): void {
    for (const { key } of uses) {
      const entry = this.#entry(key)
      entry.rules--
      this.#removeIfUnused(entry)
    }
  }

  #entry(key: string): Entry {
    const existing = this.#entries.get(key)
    if (existing) return existing
    const id = ++this.#lastId
    const entry: Entry = {
      key,
      id,
      limits: unlimited,
      refusals: defaultRefusals,
      budget: null,
      closed: null,
      rules: 0
    }
    this.#entries.set(key, entry)
    this.#keys.set(id, key)
    return entry
  }

  #apply({ id, limits, refusals, closed }: Entry): void {
    const { reason } = closed ?? {}
    this.#engine.setMeter(id, {
      ...limits,
      ...(closed && { connections: 0 }),
      refusals: reason === undefined ? refusals : { ...refusals, connections: reason, budget: reason }
    })
  }

  #removeIfUnused(entry: Entry): void {
    if (entry.rules > 0 || hasLimits(entry)) return
    this.#entries.delete(entry.key)
    this.#keys.delete(entry.id)
    this.#engine.removeMeter(entry.id)
  }
}

const hasLimits = ({ limits, budget }: Entry): boolean => limits !== unlimited || budget !== null
