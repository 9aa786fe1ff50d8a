// A gate that traffic passes: rates delay or drop, counts refuse, a spent budget holds what lives.
import type { Budget, Meter, MeterCounters } from '../../engine.ts'
import { openReserve } from './budget-state.ts'
import { type Bucket, openBucket, type Waiter } from './token-bucket.ts'

export type Direction = 'in' | 'out'

/** Who passes. */
export interface Guest {
  /** What `reserve` refused may be asked for again, now, within this call. */
  ready(direction: Direction): void
  /** It was held for too long. */
  cut(): void
}

export interface Gauge {
  readonly refusals: Meter['refusals']
  change(meter: Meter): void
  budget(budget: Budget | null): void
  /** Why one more connection is refused, or null. Takes nothing. */
  refusal(): string | null
  /** `guest` null: nobody waits, all is dropped. */
  enter(guest: Guest | null): void
  leave(guest: Guest | null): void
  /** What of `want` may go on; 0: the waiter stands in line. Takes nothing. */
  offer(direction: Direction, want: number, waiter: Waiter): number
  /** Why a datagram is dropped, or null. Takes nothing. The one that crosses a budget's mark still passes, whole. */
  drop(direction: Direction, bytes: number): string | null
  take(direction: Direction, bytes: number): void
  delivered(direction: Direction, bytes: number): void
  giveBack(bytes: number): void
  forget(waiter: Waiter): void
  count(): MeterCounters
}

export function openGauge(id: number, first: Meter, onEmpty: () => void): Gauge {
  const bytes: Readonly<Record<Direction, Bucket>> = { in: openBucket(), out: openBucket() }
  const passed = { in: 0, out: 0 }
  const arrivals = openBucket()
  const guests = new Set<Guest>()
  const reserve = openReserve({ total: () => passed.in + passed.out, onEmpty, guests })
  let meter = first
  let active = 0

  const change = (next: Meter) => {
    meter = next
    bytes.in.change(next.bytesIn)
    bytes.out.change(next.bytesOut)
    arrivals.change(next.newConnections)
  }
  change(first)

  return {
    get refusals() {
      return meter.refusals
    },
    change,
    budget: reserve.set,
    refusal() {
      if (reserve.isEmpty()) return meter.refusals.budget
      if (meter.connections !== null && active >= meter.connections) return meter.refusals.connections
      return arrivals.has(1) ? null : meter.refusals.newConnections
    },
    enter(guest) {
      active++
      arrivals.take(1)
      if (guest) guests.add(guest)
    },
    leave(guest) {
      active--
      if (guest) guests.delete(guest)
    },
    offer(direction, want, waiter) {
      const left = reserve.offer(want, waiter)
      return left === 0 ? 0 : bytes[direction].offer(left, waiter)
    },
    drop(direction, count) {
      if (reserve.left() === 0) return meter.refusals.budget
      return bytes[direction].has(count) ? null : meter.refusals.bytes
    },
    take(direction, count) {
      bytes[direction].take(count)
      reserve.take(count)
    },
    delivered(direction, count) {
      passed[direction] += count
      reserve.delivered(count)
    },
    giveBack: reserve.giveBack,
    forget(waiter) {
      bytes.in.leave(waiter)
      bytes.out.leave(waiter)
      reserve.leave(waiter)
    },
    count: () => ({
      id,
      bytesIn: passed.in,
      bytesOut: passed.out,
      active,
      throttledMs: bytes.in.waitedMs() + bytes.out.waitedMs()
    })
  }
}
