// The first bytes of a stream, which are read before anything is done for it: a TLS record with a ClientHello.
import type { Socket } from 'node:net'

const headerBytes = 5
const handshakeRecord = 0x16
const tlsMajor = 0x03
/** A ClientHello with the key shares of today has about 1.5 KiB, and nothing follows it before the server's answer. */
const maxBytes = 4 * 1024

const none: Buffer = Buffer.alloc(0)

type Judged = 'complete' | 'partial' | 'garbage'

/** Whether the bytes are exactly one TLS record of a handshake, its beginning, or something else. */
export function judge(bytes: Buffer): Judged {
  const [type = handshakeRecord, major = tlsMajor] = bytes
  if (type !== handshakeRecord || major !== tlsMajor || bytes.length > maxBytes) return 'garbage'
  if (bytes.length < headerBytes) return 'partial'
  const length = headerBytes + bytes.readUInt16BE(headerBytes - 2)
  if (length > maxBytes || bytes.length > length) return 'garbage'
  return bytes.length === length ? 'complete' : 'partial'
}

/**
 * Calls `complete` when the ClientHello is there, and destroys the socket for other bytes, also for those that follow.
 * Returns a function that puts the ClientHello back and lets the socket be read by somebody else.
 */
export function readClientHello(socket: Socket, complete: () => void): () => void {
  let bytes = none
  const read = (): void => {
    const chunk = socket.read() as Buffer | null // null: nothing more is there, or the end
    if (!chunk || socket.destroyed) return
    bytes = Buffer.concat([bytes, chunk])
    const judged = judge(bytes)
    if (judged === 'garbage') socket.destroy()
    if (judged === 'complete') complete()
  }
  socket.on('readable', read)
  return () => {
    socket.off('readable', read)
    if (bytes.length > 0) socket.unshift(bytes)
    bytes = none // it is a part of a larger buffer, which would be kept as long as the stream
  }
}
