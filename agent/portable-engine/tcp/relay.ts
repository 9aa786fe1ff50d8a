// Connects two sockets: bytes, FIN and RST are passed on, each direction on its own.
import type { Socket } from 'node:net'
import type { Direction } from '../meters/waiter.ts'
import { type Metering, Pump } from './pump.ts'
import { resetSocket } from './reset-socket.ts'

/** When one side fails, the bytes it has sent may take this long to reach the other. */
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

  /** True when one of the directions waits for a meter. */
  get isWaiting(): boolean {
    return this.#pumps.in.isWaiting || this.#pumps.out.isWaiting
  }

  resume(direction: Direction): void {
    this.#pumps[direction].run()
  }
}

/** Resets `to` after an error on `from`, when all bytes received from `from` are written. */
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
