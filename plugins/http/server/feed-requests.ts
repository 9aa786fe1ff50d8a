import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const headEnd = '\r\n\r\n'
/** How much of a chunked body is parsed at a time: requests may follow it. */
const chunkedBytes = 512

/**
 * Gives the HTTP parser of a connection one request at a time. The socket is not read while `newest` is complete: that is the
 * newest request without its response. Node by itself parses every request that has arrived. Call it when the parser listens.
 */
export function feedRequests(socket: Socket, newest: () => IncomingMessage | undefined): void {
  const [parse] = socket.listeners('data')
  if (!parse) return
  let body: IncomingMessage | undefined
  let bodyLeft = 0

  /** Returns how many bytes end the head or the body that is being parsed, at most. */
  function nextLength(bytes: Buffer): number {
    const request = newest()
    if (!request) {
      const end = bytes.indexOf(headEnd)
      return end < 0 ? bytes.length : end + headEnd.length
    }
    if (request !== body) bodyLeft = lengthOf(request)
    body = request
    const length = Math.min(bytes.length, bodyLeft > 0 ? bodyLeft : chunkedBytes)
    bodyLeft -= length
    return length
  }

  socket.on('data', (bytes: Buffer) => {
    let rest = bytes
    while (rest.length > 0 && socket.writable) {
      if (newest()?.complete || isPausedByNode(socket)) {
        socket.pause()
        socket.unshift(rest)
        return
      }
      const length = nextLength(rest)
      parse.call(socket, rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  })
  socket.removeListener('data', parse as (bytes: Buffer) => void)
}

const lengthOf = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0

/** The parser must get nothing while Node waits for the caller to read. */
const isPausedByNode = (socket: Socket): boolean => '_paused' in socket && socket._paused === true
