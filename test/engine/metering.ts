// Meters for the cases, and what passes them.
import type { Socket } from 'node:net'
import type { Engine, Meter, MeterCounters, Rate } from '../../agent/engine.ts'

export const unlimited: Meter = {
  bytesIn: null,
  bytesOut: null,
  connections: null,
  newConnections: null,
  refusals: { connections: 'too_many', newConnections: 'too_fast', bytes: 'too_much', budget: 'spent' }
}

export const limited = (limits: Partial<Meter>): Meter => ({ ...unlimited, ...limits })

export const rate = (perSec: number, burst: number): Rate => ({ perSec, burst })

export function meterOf(engine: Engine, id: number): MeterCounters {
  const meter = engine.sample().meters.find(meter => meter.id === id)
  if (!meter) throw new TypeError(`the engine has no meter ${id}`)
  return meter
}

export const totalOf = (engine: Engine, id: number): number => {
  const { bytesIn, bytesOut } = meterOf(engine, id)
  return bytesIn + bytesOut
}

/** Writes without end, as fast as it is taken. */
export function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024)
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

/** What a socket has received so far; it is read and thrown away. */
export function received(socket: Socket): () => number {
  let bytes = 0
  socket.on('data', chunk => {
    bytes += chunk.length
  })
  return () => bytes
}
