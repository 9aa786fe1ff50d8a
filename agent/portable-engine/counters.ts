import type { Counters, EngineRule, PortCounters, TargetCounters } from '../engine.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Counters while they count. */
export interface Tally extends Mutable<Omit<Counters, 'ports' | 'targets' | 'rejected'>> {
  readonly ports: readonly Mutable<PortCounters>[]
  readonly targets: readonly Mutable<TargetCounters>[]
  readonly rejected: Record<string, number>
}

export const openTally = ({ id, from, to, targets }: EngineRule): Tally => ({
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
    health: 'unknown',
    consecutiveFailures: 0,
    lastFailureAt: null,
    lastSuccessAt: null
  })),
  connectionsTotal: 0,
  dnsFailures: 0,
  targetFailovers: 0,
  flowsDroppedOverflow: 0,
  rejected: {}
})

export function reject({ rejected }: Tally, reason: string): void {
  rejected[reason] = (rejected[reason] ?? 0) + 1
}

export const snapshot = (tally: Tally): Counters => ({
  ...tally,
  ports: tally.ports.map(port => ({ ...port })),
  targets: tally.targets.map(target => ({ ...target })),
  rejected: { ...tally.rejected }
})
