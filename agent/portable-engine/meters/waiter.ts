/** In: from the caller to the target. */
export type Direction = 'in' | 'out'

/** A connection that passes meters and may have to wait for them. */
export interface Waiter {
  /** A refused `reserve` may succeed now; the connection asks again within this call. */
  resume(direction: Direction): void
  /** The connection has been on hold for too long. */
  reset(): void
}

/** A waiter's place in a queue, for one direction: called when asking again may succeed. */
export type Retry = () => void
