// The meters of one engine, and the way of a connection or flow through those of its rule, in their order.
import type { Budget, Meter, MeterCounters } from '../../engine.ts'
import { fault } from '../engine-fault.ts'
import { type Direction, type Gauge, type Guest, openGauge } from './meter.ts'

export interface Meters {
  set(id: number, meter: Meter): void
  budget(id: number, budget: Budget | null): void
  forget(id: number): void
  /** Throws an EngineFault when one is not there. */
  way(ids: readonly number[]): Way
  count(): MeterCounters[]
  /** Ends its timers; what was counted stays. */
  stop(): void
}

export interface Way {
  /** `guest` null: a flow; nobody waits. A refusal by one takes nothing from the others. */
  enter(guest: Guest | null): Pass | { readonly refusal: string }
}

/** What was reserved or admitted is either delivered or returned. */
export interface Pass {
  /** How many of `want` bytes may be read now; 0: none, and the guest is called when it is worth asking again. */
  reserve(direction: Direction, want: number): number
  /** A datagram, whole: null, or why it is dropped. */
  admit(direction: Direction, bytes: number): string | null
  delivered(direction: Direction, bytes: number): void
  returned(bytes: number): void
  leave(): void
}

export function openMeters(onEmpty: (id: number) => void): Meters {
  const gauges = new Map<number, Gauge>()
  const find = (id: number): Gauge => {
    const gauge = gauges.get(id)
    if (!gauge) throw fault('EINVAL', `meter ${id} is not there`)
    return gauge
  }
  return {
    set(id, meter) {
      const known = gauges.get(id)
      if (known) known.change(meter)
      else
        gauges.set(
          id,
          openGauge(id, meter, () => onEmpty(id))
        )
    },
    budget: (id, budget) => find(id).budget(budget),
    forget(id) {
      gauges.get(id)?.budget(null) // ends its timer
      gauges.delete(id)
    },
    way: ids => wayThrough(ids.map(find)),
    count: () => [...gauges.values()].map(gauge => gauge.count()),
    stop() {
      for (const gauge of gauges.values()) gauge.budget(null)
    }
  }
}

const wayThrough = (gauges: readonly Gauge[]): Way => ({
  enter(guest) {
    for (const gauge of gauges) {
      const refusal = gauge.refusal()
      if (refusal !== null) return { refusal }
    }
    for (const gauge of gauges) gauge.enter(guest)
    return passThrough(gauges, guest)
  }
})

function passThrough(gauges: readonly Gauge[], guest: Guest | null): Pass {
  const waiters = { in: () => guest?.ready('in'), out: () => guest?.ready('out') }
  let hasLeft = false

  const take = (direction: Direction, bytes: number) => {
    for (const gauge of gauges) gauge.take(direction, bytes)
  }
  return {
    reserve(direction, want) {
      let most = want
      for (const gauge of gauges) {
        most = gauge.offer(direction, most, waiters[direction])
        if (most === 0) return 0
      }
      take(direction, most)
      return most
    },
    admit(direction, bytes) {
      for (const gauge of gauges) {
        const refusal = gauge.drop(direction, bytes)
        if (refusal !== null) return refusal
      }
      take(direction, bytes)
      return null
    },
    delivered(direction, bytes) {
      for (const gauge of gauges) gauge.delivered(direction, bytes)
    },
    returned(bytes) {
      for (const gauge of gauges) gauge.giveBack(bytes)
    },
    leave() {
      if (hasLeft) return
      hasLeft = true
      for (const gauge of gauges) {
        for (const waiter of Object.values(waiters)) gauge.forget(waiter)
        gauge.leave(guest)
      }
    }
  }
}
