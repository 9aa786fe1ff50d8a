// Reads the first bytes of a stream before the server does any work for it: a TLS record with a ClientHello.
import type { Socket } from 'node:net'

const headerBytes = 5
const handshakeRecord = 0x16
const tlsMajor = 0x03
/** Today's key shares make a ClientHello of about 1.5 KiB; nothing follows it before the server answers. */
const maxBytes = 4 * 1024

const none: Buffer = Buffer.alloc(0)

type Judged = 'complete' | 'partial' | 'garbage'

/** Returns whether the bytes are exactly one TLS handshake record, the start of one, or something else. */
export function judge(bytes: Buffer): Judged {
  const [type = handshakeRecord, major = tlsMajor] = bytes
  if (type !== handshakeRecord || major !== tlsMajor || bytes.length > maxBytes) return 'garbage'
  if (bytes.length < headerBytes) return 'partial'
  const length = headerBytes + bytes.readUInt16BE(headerBytes - 2)
  if (length > maxBytes || bytes.length > length) return 'garbage'
  return bytes.length === length ? 'complete' : 'partial'
}

/**
 * Calls `complete` when the ClientHello has arrived. Destroys the socket for any other bytes, also for bytes after it.
 * Returns a function that puts the ClientHello back and releases the socket to another reader.
 */
export function readClientHello(socket: Socket, complete: () => void): () => void {
  let bytes = none
  const read = (): void => {
    const chunk = socket.read() as Buffer | null // null: no more data, or the end
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
    bytes = none // otherwise the larger buffer that it is part of would live as long as the stream
  }
}
