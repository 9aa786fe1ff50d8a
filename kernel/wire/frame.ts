// A frame is a 4-byte big-endian length and that many bytes. Length 0 is a heartbeat.
import { Refused } from './message.ts'

/** Limits are bytes of a frame without its header. */
export const handshakeFrameLimit = 4 * 1024 // before Hello
export const frameLimit = 256 * 1024

const headerBytes = 4

export const heartbeat: Uint8Array = new Uint8Array(headerBytes)

/** Throws Refused above the limit. */
export function encodeFrame(body: Uint8Array): Uint8Array {
  if (body.length > frameLimit)
    throw new Refused('wire.oversized', `a frame of ${body.length} bytes is over the limit (${frameLimit})`)
  const bytes = Buffer.allocUnsafe(headerBytes + body.length)
  bytes.writeUInt32BE(body.length)
  bytes.set(body, headerBytes)
  return bytes
}

/** Returns a function that takes chunks of any size and calls `onFrame` for each frame. Throws Refused above `limit`. */
export function frameParser(
  limit: () => number,
  onFrame: (body: Uint8Array) => void
): (chunk: Buffer) => void {
  const header = Buffer.alloc(headerBytes)
  let buffer = header // the header or the body being filled
  let filled = 0
  return chunk => {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(buffer, filled, at)
      at += copied
      filled += copied
      if (filled < buffer.length) return
      filled = 0
      const isHeader = buffer === header
      const complete = buffer
      buffer = isHeader ? Buffer.allocUnsafe(lengthIn(header, limit())) : header
      if (isHeader && buffer.length > 0) continue
      buffer = header
      onFrame(isHeader ? new Uint8Array() : complete)
    }
  }
}

function lengthIn(header: Buffer, limit: number): number {
  const length = header.readUInt32BE()
  if (length > limit)
    throw new Refused('wire.oversized', `a frame of ${length} bytes is over the limit (${limit})`)
  return length
}
