// Joins two connected sockets: bytes, ends and resets cross over, each direction on its own.
import type { Socket } from 'node:net'
import type { Direction } from '../meters/waiter.ts'
import { type Metering, Pump } from './pump.ts'
import { resetSocket } from './reset-socket.ts'

/** How long bytes received before one side failed may take to reach the other. */
const flushMs = 5_000

export class Relay {
  readonly #pumps: Readonly<Record<Direction, Pump>>

  constructor(caller: Socket, target: Socket, metering: Metering) {
    this.#pumps = {
      in: new Pump(caller, target, 'in', metering),
      out: new Pump(target, caller, 'out', metering)
    }
    passError(caller, target, this.#pumps.in)
    passError(target, caller, this.#pumps.out)
  }

  /** Waiting for a meter, in one of the directions. */
  get isWaiting(): boolean {
    return this.#pumps.in.isWaiting || this.#pumps.out.isWaiting
  }

  resume(direction: Direction): void {
    this.#pumps[direction].run()
  }
}

/** An error on `from` resets `to`, after everything received from `from` is written. */
function passError(from: Socket, to: Socket, pump: Pump): void {
  const onError = () => {
    if (to.destroyed) return
    const limit = setTimeout(() => resetSocket(to), flushMs)
    to.once('close', () => clearTimeout(limit))
    pump.whenFlushed(() => resetSocket(to))
  }
  if (from.errored) onError()
  else from.once('error', onError)
}
