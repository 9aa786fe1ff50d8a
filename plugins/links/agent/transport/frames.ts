// The frames of a link connection. docs/LINK-PROTOCOL.md specifies each byte.

export const frameType = {
  hello: 1,
  open: 2,
  opened: 3,
  refused: 4,
  data: 5,
  ack: 6,
  end: 7,
  reset: 8,
  ping: 9,
  dial: 10
} as const
export type FrameType = (typeof frameType)[keyof typeof frameType]

/** Flags of single types; the others must be 0. */
export const flag = {
  answer: 1, // of HELLO and PING
  probe: 1, // of OPEN: dial the target and close it
  test: 2, // of OPEN: measure the link
  refusal: 1 // of REFUSED: a decision, not a failed dial
} as const

const headerBytes = 8
const maxFrameBytes = 16 * 1024
/** Largest payload of DATA. */
export const maxDataBytes = maxFrameBytes - headerBytes
const maxControlBytes = 1024 - headerBytes

export interface Frame {
  readonly type: FrameType
  readonly flags: number
  readonly number: number // of the OPEN; 0 on a control connection and of HELLO
  readonly payload: Buffer
}

/** The peer sent bytes that are not the protocol. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

interface Limits {
  readonly flags: number // that may be set
  readonly least: number // bytes of payload
  readonly most: number
}

const limits: Readonly<Record<FrameType, Limits>> = {
  [frameType.hello]: { flags: flag.answer, least: 0, most: maxControlBytes },
  [frameType.open]: { flags: flag.probe | flag.test, least: 1, most: maxControlBytes },
  [frameType.opened]: { flags: 0, least: 1, most: maxControlBytes },
  [frameType.refused]: { flags: flag.refusal, least: 1, most: 64 },
  [frameType.data]: { flags: 0, least: 1, most: maxDataBytes },
  [frameType.ack]: { flags: 0, least: 8, most: 8 },
  [frameType.end]: { flags: 0, least: 0, most: 0 },
  [frameType.reset]: { flags: 0, least: 0, most: 0 },
  [frameType.ping]: { flags: flag.answer, least: 8, most: 8 },
  [frameType.dial]: { flags: 0, least: 2, most: 2 }
}

/** Returns the header of a frame. */
export function frameHeader(type: FrameType, flags: number, length: number, number: number): Buffer {
  const header = Buffer.allocUnsafe(headerBytes)
  header.writeUInt8(type, 0)
  header.writeUInt8(flags, 1)
  header.writeUInt16BE(length, 2)
  header.writeUInt32BE(number, 4)
  return header
}

/** Splits received bytes into frames. It keeps at most one incomplete frame. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)

  /** Returns the complete frames. Throws ProtocolError for a frame that no peer may send. */
  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    let at = 0
    if (this.#rest.length > 0) {
      const missing = missingBytes(this.#rest, chunk)
      this.#rest = Buffer.concat([this.#rest, chunk.subarray(0, missing)])
      at = Math.min(missing, chunk.length)
      const frame = parseFrame(this.#rest, 0)
      if (!frame) return []
      this.#rest = Buffer.alloc(0)
      frames.push(frame)
    }
    for (let frame = parseFrame(chunk, at); frame; frame = parseFrame(chunk, at)) {
      at += headerBytes + frame.payload.length
      frames.push(frame)
    }
    this.#rest = Buffer.from(chunk.subarray(at)) // a copy: the chunk is larger
    return frames
  }
}

/** Returns how many bytes of `chunk` complete the frame that starts in `rest`. */
function missingBytes(rest: Buffer, chunk: Buffer): number {
  if (rest.length + chunk.length < headerBytes) return chunk.length
  const lengthByte = (at: number): number => (at < rest.length ? rest[at] : chunk[at - rest.length]) ?? 0
  return headerBytes + lengthByte(2) * 256 + lengthByte(3) - rest.length
}

/** Returns the frame at `at`, or null if it is incomplete. */
function parseFrame(bytes: Buffer, at: number): Frame | null {
  if (bytes.length - at < headerBytes) return null
  const type = bytes.readUInt8(at)
  const flags = bytes.readUInt8(at + 1)
  const length = bytes.readUInt16BE(at + 2)
  const limit = limits[type as FrameType] as Limits | undefined
  if (!limit) throw new ProtocolError(`unknown frame type ${type}`)
  if ((flags & ~limit.flags) !== 0) throw new ProtocolError(`frame type ${type} with flags ${flags}`)
  if (length < limit.least || length > limit.most)
    throw new ProtocolError(`frame type ${type} with ${length} bytes`)
  const start = at + headerBytes
  if (bytes.length < start + length) return null
  const payload = bytes.subarray(start, start + length)
  return { type: type as FrameType, flags, number: bytes.readUInt32BE(at + 4), payload }
}
