// The meters of the engine by their owners' names for them; unlimited until somebody limits them.
import type { Budget, Engine, Meter } from '../engine.ts'
import type { AgentMeters, MeterLimits, MeterUse } from '../plugin.ts'

export interface Meters extends AgentMeters {
  /** A rule passes these: their numbers in the engine. Each `join` is ended by one `leave`. */
  join(uses: readonly MeterUse[]): readonly number[]
  leave(uses: readonly MeterUse[]): void
}

interface Known {
  readonly id: number
  limits: MeterLimits
  refusals: Meter['refusals']
  budget: Budget | null
  rules: number
}

const unlimited: MeterLimits = { bytesIn: null, bytesOut: null, connections: null, newConnections: null }
const unnamed: Meter['refusals'] = {
  connections: 'concurrent_connections',
  newConnections: 'new_connections_per_sec',
  bytes: 'bandwidth',
  budget: 'budget'
}

export function openMeters(engine: Pick<Engine, 'setMeter' | 'removeMeter' | 'setBudget'>): Meters {
  const known = new Map<string, Known>()
  const keys = new Map<number, string>()
  let lastId = 0

  function make(key: string): Known {
    const meter: Known = { id: ++lastId, limits: unlimited, refusals: unnamed, budget: null, rules: 0 }
    known.set(key, meter)
    keys.set(meter.id, key)
    return meter
  }

  const find = (key: string): Known => known.get(key) ?? make(key)
  const apply = ({ id, limits, refusals }: Known): void => engine.setMeter(id, { ...limits, refusals })

  /** One that nobody limits and no rule passes is as if it had never been. */
  function forgetIdle(key: string, { id, rules, limits, budget }: Known): void {
    if (rules > 0 || limits !== unlimited || budget) return
    known.delete(key)
    keys.delete(id)
    engine.removeMeter(id)
  }

  return {
    setLimits(key, limits) {
      const meter = find(key)
      meter.limits = limits ?? unlimited
      apply(meter)
      forgetIdle(key, meter)
    },
    setBudget(key, budget) {
      const isNew = !known.has(key)
      const meter = find(key)
      meter.budget = budget
      if (isNew) apply(meter)
      engine.setBudget(meter.id, budget)
      forgetIdle(key, meter)
    },
    totalBytes(key, { meters }) {
      const id = known.get(key)?.id
      const counters = meters.find(meter => meter.id === id)
      return counters ? counters.bytesIn + counters.bytesOut : 0
    },
    keyOf: id => keys.get(id),
    join: uses =>
      uses.map(({ key, refusals }) => {
        const meter = find(key)
        meter.refusals = refusals
        meter.rules++
        apply(meter)
        return meter.id
      }),
    leave(uses) {
      for (const { key } of uses) {
        const meter = find(key)
        meter.rules--
        forgetIdle(key, meter)
      }
    }
  }
}
