// Two connected sockets become one connection: bytes, ends and resets cross over, each direction by itself.
import type { Socket } from 'node:net'
import type { Early } from './lobby.ts'

/** Beyond this the source of a direction is not read; with what Node reads ahead, its buffers stay near twice this. */
const maxBufferedBytes = 128 * 1024
/** What was received before one side broke may take this long to reach the other. */
const flushMs = 5_000

/** Beyond it Node's timers fire at once. */
export const longestTimerMs = 2 ** 31 - 1

export interface Delivered {
  in(bytes: number): void
  out(bytes: number): void
}

export function relay(caller: Socket, target: Socket, early: Early, delivered: Delivered): void {
  const inward = openLane(caller, target, delivered.in)
  const outward = openLane(target, caller, delivered.out)
  breakTogether(caller, target, inward)
  breakTogether(target, caller, outward)

  for (const chunk of early.chunks) inward.push(chunk)
  if (early.hasEnded) target.end()
  caller.resume()
}

interface Lane {
  push(chunk: Buffer): void
  /** Runs `then` when nothing that was pushed is still on its way. */
  whenFlushed(then: () => void): void
}

/** One direction. Counts what the destination's kernel took, when it took it. */
function openLane(from: Socket, to: Socket, count: (bytes: number) => void): Lane {
  const underWay: number[] = [] // sizes, oldest first: writes complete in order
  let flushed: (() => void) | null = null

  const onWritten = (error?: Error | null) => {
    const bytes = underWay.shift() ?? 0
    if (!error) count(bytes)
    if (from.isPaused() && to.writableLength <= maxBufferedBytes) from.resume()
    if (underWay.length === 0) flushed?.()
  }
  const push = (chunk: Buffer) => {
    underWay.push(chunk.length)
    to.write(chunk, onWritten)
    if (to.writableLength > maxBufferedBytes) from.pause()
  }
  from.on('data', push)
  from.on('end', () => to.end())

  return {
    push,
    whenFlushed(then) {
      if (underWay.length === 0) then()
      else flushed = then
    }
  }
}

/** An error of one side resets the other, after what was received is flushed. */
function breakTogether(from: Socket, to: Socket, lane: Lane): void {
  const onError = () => {
    if (to.destroyed) return
    for (let chunk = from.read(); chunk !== null; chunk = from.read()) lane.push(chunk)
    const limit = setTimeout(() => reset(to), flushMs)
    to.once('close', () => clearTimeout(limit))
    lane.whenFlushed(() => reset(to))
  }
  if (from.errored) onError()
  else from.once('error', onError)
}

/** RST. A socket whose FIN is on its way to the kernel cannot be reset in that instant: libuv would keep it open. */
export function reset(socket: Socket): void {
  if (socket.destroyed) return
  const isShutting = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (isShutting) socket.once('finish', () => socket.resetAndDestroy())
  else socket.resetAndDestroy()
}
