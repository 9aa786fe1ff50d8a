// Waits until the peer of a socket has what was written to it, as Linux tells (proc(5)). A reset would drop the rest.
import { readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

const checkMs = 50
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

interface Wait {
  readonly inode: string
  readonly limitMs: number
  readonly done: () => void
  left: number // bytes
  since: number // the last progress, in ms
}
const waits = new Map<Socket, Wait>() // all are judged by one reading of the tables

/** Calls `done` later: when the peer has all, when it has got nothing for `limitMs`, or at once where nobody knows. */
export function whenAcknowledged(socket: Socket, limitMs: number, done: () => void): void {
  if (waits.has(socket)) return
  const inode = inodeOf(socket)
  if (inode === null) {
    queueMicrotask(done)
    return
  }
  waits.set(socket, { inode, limitMs, done, left: Number.POSITIVE_INFINITY, since: performance.now() })
  if (waits.size === 1) setTimeout(check, checkMs)
}

async function check(): Promise<void> {
  const unacknowledged = await readTables()
  for (const [socket, wait] of waits) {
    const left = unacknowledged.get(wait.inode) ?? 0
    const now = performance.now()
    if (left < wait.left) wait.since = now
    wait.left = left
    if (left > 0 && now - wait.since < wait.limitMs && !socket.destroyed) continue
    waits.delete(socket)
    wait.done()
  }
  if (waits.size > 0) setTimeout(check, checkMs)
}

/** Returns the bytes that are not acknowledged, by inode. */
async function readTables(): Promise<Map<string, number>> {
  const texts = await Promise.all(tables.map(file => readFile(file, 'latin1').catch(() => '')))
  const rows = texts.flatMap(text => text.split('\n').slice(1, -1))
  return new Map(
    rows.map(row => {
      const [, , , , queues = '', , , , , inode = ''] = row.trim().split(/\s+/)
      return [inode, Number.parseInt(queues, 16)] // 'tx_queue:rx_queue'
    })
  )
}

/** Returns null on a system without /proc, and for a socket that is closed. */
function inodeOf(socket: Socket): string | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } | null }
  try {
    return readlinkSync(`/proc/self/fd/${handle?.fd}`).match(/^socket:\[(\d+)\]$/)?.[1] ?? null
  } catch {
    return null
  }
}
