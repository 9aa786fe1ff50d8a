import type { ConnectionEnd } from '../../engine/ended-connection.ts'

/** `in` is towards the target, `out` towards the caller. */
export type Direction = 'in' | 'out'

/** A connection, which may have to wait for meters. */
export interface Waiter {
  /** Retries a `reserve` that returned 0, within this call: it may succeed now. */
  resume(direction: Direction): void
  /** Resets a connection that was on hold for too long. */
  reset(why: ConnectionEnd): void
}

/** A waiter's place in a queue, for one direction: called when asking again may succeed. */
export type Retry = () => void
