// The kernel's table of TCP sockets, see proc(5). Linux only: elsewhere it is empty.
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

const files = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

/** Bytes that the peer of a socket has not acknowledged. */
export interface Unanswered {
  readonly bytes: number
  readonly tries: number // retransmissions and window probes without an answer
}

/** Rows with a tx_queue: number, local and remote address, state, tx_queue:rx_queue, timer, retrnsmt, uid, probes, inode. */
const sending = /^ *\d+: \S+ \S+ \S+ (?!00000000)(\S+):\S+ \S+ (\S+) +\d+ +(\d+) (\d+)/gm

/**
 * Returns the sockets of this network namespace with data that their peers have not acknowledged, by inode. Takes a few
 * microseconds for each socket.
 */
export function readUnanswered(): Map<string, Unanswered> {
  const found = new Map<string, Unanswered>()
  for (const file of files.filter(file => existsSync(file)))
    for (const [, queue = '', retransmissions = '', probes, inode = ''] of readFileSync(
      file,
      'latin1'
    ).matchAll(sending))
      found.set(inode, {
        bytes: Number.parseInt(queue, 16),
        tries: Number.parseInt(retransmissions, 16) + Number(probes)
      })
  return found
}

/** Returns null on a system without /proc, and for a closed socket. */
export function inodeOf(socket: Socket): string | null {
  const fd = handleOf(socket)?.fd
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1] ?? null
  } catch {
    return null
  }
}

/**
 * True if the kernel has ended the connection: after an RST, or because keepalive or a retransmission got no answer.
 * libuv does not watch a socket that is not read. Also true after FINs in both directions. False where it is unknown.
 */
export const isEndedByKernel = (socket: Socket): boolean => {
  const handle = handleOf(socket)
  return handle?.getpeername !== undefined && handle.getpeername({}) !== 0 // ENOTCONN
}

/** Node has no public interface for these two. */
interface Handle {
  readonly fd?: number
  readonly getpeername?: (address: object) => number
}

const handleOf = (socket: Socket): Handle | null =>
  (socket as Socket & { readonly _handle?: Handle | null })._handle ?? null
