import type { Counters, EngineRule, PortCounters, TargetCounters } from '../engine/engine.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export type LivePortCounters = Mutable<PortCounters>
export type LiveTargetCounters = Mutable<TargetCounters>

/** The counters of an open rule, incremented in place. */
export interface LiveCounters extends Mutable<Omit<Counters, 'ports' | 'targets' | 'rejected'>> {
  readonly ports: readonly LivePortCounters[]
  readonly targets: readonly LiveTargetCounters[]
  readonly rejected: Record<string, number>
}

export const zeroCounters = ({ id, from, to, targets }: EngineRule): LiveCounters => ({
  ruleId: id,
  ports: Array.from({ length: to - from + 1 }, (_, i) => ({
    port: from + i,
    bytesIn: 0,
    bytesOut: 0,
    datagramsIn: 0,
    datagramsOut: 0,
    active: 0
  })),
  targets: targets.map(() => ({
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
  })),
  connectionsTotal: 0,
  dnsFailures: 0,
  targetFailovers: 0,
  flowsDroppedOverflow: 0,
  rejected: {}
})

/** A copy that later increments do not change. */
export const snapshot = (counters: LiveCounters): Counters => ({
  ...counters,
  ports: counters.ports.map(port => ({ ...port })),
  targets: counters.targets.map(target => ({ ...target })),
  rejected: { ...counters.rejected }
})
