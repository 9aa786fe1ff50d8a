// Waits until the peer of a socket has acknowledged all bytes, see proc(5). A reset would drop the rest. Linux only.
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

const leastPauseMs = 5 // short, since waiting sockets hold descriptors
const pausePerRead = 10 // reading takes at most a tenth of the time
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

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
  const unacknowledged = readTables()
  for (const [socket, wait] of waits) {
    const left = unacknowledged.get(wait.inode) ?? 0
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

/** Returns the bytes that are not acknowledged, by inode. */
function readTables(): Map<string, number> {
  const rows = tables.flatMap(file =>
    existsSync(file) ? readFileSync(file, 'latin1').split('\n').slice(1, -1) : []
  )
  return new Map(
    rows.map(row => {
      const [, , , , queues = '', , , , , inode = ''] = row.trim().split(/\s+/)
      return [inode, Number.parseInt(queues, 16)] // 'tx_queue:rx_queue'
    })
  )
}

/** Returns null on a system without /proc, and for a closed socket. */
function inodeOf(socket: Socket): string | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } | null }
  try {
    return readlinkSync(`/proc/self/fd/${handle?.fd}`).match(/^socket:\[(\d+)\]$/)?.[1] ?? null
  } catch {
    return null
  }
}
