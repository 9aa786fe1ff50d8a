// Meters for the cases, and traffic that passes them.
import type { Socket } from 'node:net'
import type { Engine, Meter, MeterCounters, Rate } from '../../agent/engine/engine.ts'

export const unlimited: Meter = {
  bytesIn: null,
  bytesOut: null,
  connections: null,
  newConnections: null,
  refusals: { connections: 'too_many', newConnections: 'too_fast', bytes: 'too_much', budget: 'spent' }
}

export const limited = (limits: Partial<Meter>): Meter => ({ ...unlimited, ...limits })

export const rate = (perSec: number, burst: number): Rate => ({ perSec, burst })

export function meterCounters(engine: Engine, id: number): MeterCounters {
  const meter = engine.sample().meters.find(meter => meter.id === id)
  if (!meter) throw new TypeError(`the engine has no meter ${id}`)
  return meter
}

export const meterTotal = (engine: Engine, id: number): number => {
  const { bytesIn, bytesOut } = meterCounters(engine, id)
  return bytesIn + bytesOut
}

/** Writes forever, as fast as the socket takes it. */
export function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024)
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

/** Reads and drops everything. The returned function gives the number of bytes received so far. */
export function countReceived(socket: Socket): () => number {
  let bytes = 0
  socket.on('data', chunk => {
    bytes += chunk.length
  })
  return () => bytes
}
