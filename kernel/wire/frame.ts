// A frame: its length in 4 bytes, big-endian, and as many bytes. Length 0 is a heartbeat.
import { Refused } from './message.ts'

/** In bytes, of one frame without its header. */
export const handshakeFrameLimit = 4 * 1024 // before Hello
export const frameLimit = 256 * 1024

const headerBytes = 4

export const heartbeat: Uint8Array = new Uint8Array(headerBytes)

export function frame(body: Uint8Array): Uint8Array {
  if (body.length > frameLimit)
    throw new Refused('wire.oversized', `${body.length} bytes are more than a frame may hold (${frameLimit})`)
  const bytes = Buffer.allocUnsafe(headerBytes + body.length)
  bytes.writeUInt32BE(body.length)
  bytes.set(body, headerBytes)
  return bytes
}

/** Cuts a stream of bytes into frames, however slowly they come. Throws Refused at a frame above the limit. */
export function openFrames(limit: () => number, take: (body: Uint8Array) => void): (chunk: Buffer) => void {
  const header = Buffer.alloc(headerBytes)
  let into = header
  let filled = 0
  return chunk => {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(into, filled, at)
      at += copied
      filled += copied
      if (filled < into.length) return
      filled = 0
      const isHeader = into === header
      const whole = into
      into = isHeader ? Buffer.allocUnsafe(lengthIn(header, limit())) : header
      if (isHeader && into.length > 0) continue
      into = header
      take(isHeader ? new Uint8Array() : whole)
    }
  }
}

function lengthIn(header: Buffer, limit: number): number {
  const length = header.readUInt32BE()
  if (length > limit)
    throw new Refused('wire.oversized', `a frame of ${length} bytes is more than this end takes (${limit})`)
  return length
}
