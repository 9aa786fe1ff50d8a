// Waits until the peer of a socket has acknowledged all bytes. A reset would drop the rest. Linux only.
import type { Socket } from 'node:net'
import { inodeOf, readUnanswered } from './socket-table.ts'

const leastPauseMs = 5 // short, since waiting sockets hold descriptors
const pausePerRead = 10 // reading takes at most a tenth of the time

interface Wait {
  readonly inode: string
  readonly limitMs: number
  readonly done: () => void
  left: number // bytes
  since: number // the last progress, in ms
}
const waits = new Map<Socket, Wait>() // one read of the tables serves all
let nextCheck: NodeJS.Timeout | undefined

/**
 * Calls `done` when the peer has acknowledged all bytes, or none for `limitMs`. Calls it in a microtask if that cannot be
 * determined. Never calls it after the socket has closed.
 */
export function whenAcknowledged(socket: Socket, limitMs: number, done: () => void): void {
  if (waits.has(socket)) return
  const inode = inodeOf(socket)
  if (inode === null) {
    queueMicrotask(done)
    return
  }
  waits.set(socket, { inode, limitMs, done, left: Number.POSITIVE_INFINITY, since: performance.now() })
  socket.once('close', () => forget(socket))
  if (waits.size === 1) nextCheck = setTimeout(check, leastPauseMs)
}

function forget(socket: Socket): void {
  waits.delete(socket)
  if (waits.size === 0) clearTimeout(nextCheck)
}

function check(): void {
  const began = performance.now()
  const table = readUnanswered()
  for (const [socket, wait] of waits) {
    const left = table.get(wait.inode)?.bytes ?? 0
    const now = performance.now()
    if (left < wait.left) wait.since = now
    wait.left = left
    if (left > 0 && now - wait.since < wait.limitMs) continue
    forget(socket)
    wait.done()
  }
  const pauseMs = Math.max(leastPauseMs, pausePerRead * (performance.now() - began))
  if (waits.size > 0) nextCheck = setTimeout(check, pauseMs)
}
