// Two connected sockets become one connection: bytes, ends and resets cross over, each direction by itself.
import type { Socket } from 'node:net'
import type { Direction } from '../meters/meter.ts'
import type { Pass } from '../meters/meter-chain.ts'

/** Beyond this the source of a direction is not read; with what Node reads ahead, its buffers stay near twice this. */
const maxBufferedBytes = 128 * 1024
/** What was received before one side broke may take this long to reach the other. */
const flushMs = 5_000
const stepBytes = 64 * 1024

/** Beyond it Node's timers fire at once. */
export const longestTimerMs = 2 ** 31 - 1

/** What lets bytes through, and counts what the destination's kernel took, when it took it. */
export type Toll = Pick<Pass, 'reserve' | 'delivered' | 'returned'>

export interface Relay {
  /** The toll may let bytes through now. */
  ready(direction: Direction): void
  /** For the toll, in one of the directions. */
  isWaiting(): boolean
}

export function relay(caller: Socket, target: Socket, toll: Toll): Relay {
  const lanes = {
    in: openLane(caller, target, 'in', toll),
    out: openLane(target, caller, 'out', toll)
  }
  breakTogether(caller, target, lanes.in)
  breakTogether(target, caller, lanes.out)
  return {
    ready: direction => lanes[direction].pump(),
    isWaiting: () => lanes.in.isWaiting() || lanes.out.isWaiting()
  }
}

interface Lane {
  pump(): void
  isWaiting(): boolean
  /** Runs `then` when nothing that was received is still on its way. */
  whenFlushed(then: () => void): void
}

/** One direction. Nothing is taken from the source that may not go on. */
function openLane(from: Socket, to: Socket, direction: Direction, toll: Toll): Lane {
  let underWayBytes = 0
  let isWaiting = false
  let flushed: (() => void) | null = null

  const onWritten = (bytes: number, error: Error | null | undefined) => {
    underWayBytes -= bytes
    if (error) toll.returned(bytes)
    else toll.delivered(direction, bytes)
    pump()
  }
  const pump = () => {
    isWaiting = false
    while (from.readableLength > 0 && to.writableLength <= maxBufferedBytes && !to.destroyed) {
      const bytes = toll.reserve(direction, Math.min(from.readableLength, stepBytes))
      isWaiting = bytes === 0
      if (isWaiting) return
      underWayBytes += bytes
      to.write(from.read(bytes), error => onWritten(bytes, error))
    }
    if (from.readableLength > 0) return
    from.read(0) // on an empty buffer: asks for more, or tells the end
    if (underWayBytes === 0) flushed?.()
  }
  from.on('readable', pump)
  if (from.readableEnded) to.end()
  else from.once('end', () => to.end())
  pump()

  return {
    pump,
    isWaiting: () => isWaiting,
    whenFlushed(then) {
      flushed = then
      pump()
    }
  }
}

/** An error of one side resets the other, after what was received is flushed. */
function breakTogether(from: Socket, to: Socket, lane: Lane): void {
  const onError = () => {
    if (to.destroyed) return
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
  if (isShutting) socket.once('finish', () => resetNow(socket))
  else resetNow(socket)
}

/** libuv refuses for one that the peer has reset, which nobody has read yet; Node then forgets it without closing it. */
function resetNow(socket: Socket): void {
  const { _handle: handle } = socket as Socket & {
    readonly _handle?: { close(done: () => void): void } | null
  }
  const onError = ({ syscall }: NodeJS.ErrnoException): void => {
    if (syscall === 'reset') handle?.close(() => socket.emit('close', true))
  }
  socket.once('error', onError)
  socket.resetAndDestroy()
}
