// Connects two sockets: bytes, FIN and RST are passed on, each direction on its own.
import type { Socket } from 'node:net'
import type { Direction } from '../meters/waiter.ts'
import type { RuleState } from '../rule-state.ts'
import { type Metering, Pump } from './pump.ts'
import { resetSocket } from './reset-socket.ts'
import { whenAcknowledged } from './when-acknowledged.ts'

/** After one side fails, its bytes are still flushed to the other side, unless none is accepted for this long. */
const flushMs = 5_000

export class Relay {
  readonly #pumps: Readonly<Record<Direction, Pump>>

  constructor(caller: Socket, target: Socket, metering: Metering, descriptors: RuleState['descriptors']) {
    this.#pumps = {
      in: new Pump(caller, target, 'in', metering),
      out: new Pump(target, caller, 'out', metering)
    }
    passError(caller, target, this.#pumps.in, descriptors)
    passError(target, caller, this.#pumps.out, descriptors)
  }

  /** True when one of the directions waits for a meter. */
  get isWaiting(): boolean {
    return this.#pumps.in.isWaiting || this.#pumps.out.isWaiting
  }

  resume(direction: Direction): void {
    this.#pumps[direction].run()
  }
}

/** Resets `to` after an error on `from`, when it has all bytes that were received from `from`. */
function passError(from: Socket, to: Socket, pump: Pump, descriptors: RuleState['descriptors']): void {
  const onError = () => {
    if (to.destroyed) return
    let written = to.bytesWritten - to.writableLength
    const limit = setInterval(() => {
      const before = written
      written = to.bytesWritten - to.writableLength
      if (written === before) resetSocket(to)
    }, flushMs)
    to.once('close', () => clearInterval(limit))
    pump.whenFlushed(() => {
      clearInterval(limit)
      if (descriptors.arePlenty) whenAcknowledged(to, flushMs, () => resetSocket(to))
      else resetSocket(to)
    })
  }
  if (from.errored) onError()
  else from.once('error', onError)
}
