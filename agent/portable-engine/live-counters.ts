import type { DivertCounters } from '../engine/divert.ts'
import type { Counters, EngineRule, PortCounters, TargetCounters } from '../engine/engine.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export type LivePortCounters = Mutable<PortCounters>
export type LiveTargetCounters = Mutable<TargetCounters>

/** The counters of an open rule, incremented in place. */
export interface LiveCounters extends Mutable<Omit<Counters, 'ports' | 'targets' | 'diverts' | 'rejected'>> {
  readonly ports: readonly LivePortCounters[]
  readonly targets: readonly LiveTargetCounters[]
  readonly diverts: readonly LiveDivertCounters[]
  readonly rejected: Record<string, number>
}

interface LiveDivertCounters {
  readonly name: string
  readonly targets: readonly LiveTargetCounters[]
}

export const zeroCounters = ({ id, from, to, targets, diverts }: EngineRule): LiveCounters => ({
  ruleId: id,
  ports: Array.from({ length: to - from + 1 }, (_, i) => ({
    port: from + i,
    bytesIn: 0,
    bytesOut: 0,
    datagramsIn: 0,
    datagramsOut: 0,
    active: 0
  })),
  targets: targets.map(zeroTarget),
  diverts: diverts.map(({ name, targets }) => ({ name, targets: targets.map(zeroTarget) })),
  connectionsTotal: 0,
  dnsFailures: 0,
  targetFailovers: 0,
  flowsDroppedOverflow: 0,
  rejected: {}
})

const zeroTarget = (): LiveTargetCounters => ({
  bytesIn: 0,
  bytesOut: 0,
  connectionsTotal: 0,
  active: 0,
  health: 'unknown',
  consecutiveFailures: 0,
  failures: 0,
  connects: 0,
  connectMs: 0,
  lastFailureAt: null,
  lastSuccessAt: null,
  lastFailure: null,
  lastSource: 'traffic'
})

/** A copy that later increments do not change. */
export const snapshot = (counters: LiveCounters): Counters => ({
  ...counters,
  ports: counters.ports.map(port => ({ ...port })),
  targets: counters.targets.map(target => ({ ...target })),
  diverts: counters.diverts.map(divertCounters),
  rejected: { ...counters.rejected }
})

function divertCounters({ name, targets }: LiveDivertCounters): DivertCounters {
  const sum = (counter: 'bytesIn' | 'bytesOut' | 'connectionsTotal' | 'active'): number =>
    targets.reduce((total, target) => total + target[counter], 0)
  return {
    name,
    bytesIn: sum('bytesIn'),
    bytesOut: sum('bytesOut'),
    connectionsTotal: sum('connectionsTotal'),
    active: sum('active')
  }
}
