// The payloads of control frames.
import { isIP } from 'node:net'
import { ProtocolError } from './frames.ts'

const id = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const reason = /^[a-z][a-z0-9_]{0,63}$/
const idBytes = 26

/** The purpose of a link connection: pings and requests, or client connections. */
export type ConnectionKind = 'control' | 'data'
const kinds: readonly ConnectionKind[] = ['control', 'data']

export interface Hello {
  readonly linkId: string
  readonly kind: ConnectionKind
}

export const encodeHello = ({ linkId, kind }: Hello): Buffer =>
  Buffer.concat([Buffer.of(kinds.indexOf(kind)), Buffer.from(linkId, 'latin1')])

export function decodeHello(bytes: Buffer): Hello {
  const kind = kinds[bytes[0] ?? -1]
  if (kind === undefined || bytes.length !== 1 + idBytes) throw new ProtocolError('HELLO is malformed')
  return { kind, linkId: decodeId(bytes.subarray(1)) }
}

/** A request for a target of a rule. It never names a host. */
export interface Open {
  readonly ruleId: string
  readonly key: number // of the target, see `targetKey`
  readonly offset: number // in a range of ports
  readonly budgetMs: number // time for the answer
}

export function encodeOpen({ ruleId, key, offset, budgetMs }: Open): Buffer {
  const rest = Buffer.alloc(8)
  rest.writeUInt32BE(key, 0)
  rest.writeUInt16BE(offset, 4)
  rest.writeUInt16BE(budgetMs, 6)
  return Buffer.concat([Buffer.from(ruleId, 'latin1'), rest])
}

export function decodeOpen(bytes: Buffer): Open {
  if (bytes.length !== idBytes + 8) throw new ProtocolError('OPEN is malformed')
  return {
    ruleId: decodeId(bytes.subarray(0, idBytes)),
    key: bytes.readUInt32BE(idBytes),
    offset: bytes.readUInt16BE(idBytes + 4),
    budgetMs: bytes.readUInt16BE(idBytes + 6)
  }
}

/** A measurement of a link: bytes that the far side sends after it has received the others. */
export interface OpenTest {
  readonly bytes: number
  readonly ms: number
}

export function encodeTest({ bytes, ms }: OpenTest): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeUInt32BE(bytes, 0)
  buffer.writeUInt32BE(ms, 4)
  return buffer
}

export function decodeTest(bytes: Buffer): OpenTest {
  if (bytes.length !== 8) throw new ProtocolError('OPEN of a test is malformed')
  return { bytes: bytes.readUInt32BE(0), ms: bytes.readUInt32BE(4) }
}

/** The target that the exit dialed. */
export interface Opened {
  readonly address: string
  readonly port: number
  readonly dnsMs: number
  readonly connectMs: number
}

const openedBytes = 10

export function encodeOpened({ address, port, dnsMs, connectMs }: Opened): Buffer {
  const head = Buffer.alloc(openedBytes)
  head.writeUInt16BE(port, 0)
  head.writeUInt32BE(microseconds(dnsMs), 2)
  head.writeUInt32BE(microseconds(connectMs), 6)
  return Buffer.concat([head, Buffer.from(address, 'latin1')])
}

const microseconds = (ms: number): number => Math.min(0xffff_ffff, Math.max(0, Math.round(ms * 1000)))

export function decodeOpened(bytes: Buffer): Opened {
  const address = bytes.subarray(openedBytes).toString('latin1')
  if (bytes.length < openedBytes || isIP(address) === 0) throw new ProtocolError('OPENED is malformed')
  return {
    address,
    port: bytes.readUInt16BE(0),
    dnsMs: bytes.readUInt32BE(2) / 1000,
    connectMs: bytes.readUInt32BE(6) / 1000
  }
}

export const encodeReason = (text: string): Buffer =>
  Buffer.from(reason.test(text) ? text : 'failed', 'latin1')

export function decodeReason(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (!reason.test(text)) throw new ProtocolError('REFUSED is malformed')
  return text
}

/** A number of bytes below 2^53. */
export function encodeCount(count: number): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64BE(BigInt(count))
  return buffer
}

export function decodeCount(bytes: Buffer): number {
  const count = bytes.readBigUInt64BE()
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) throw new ProtocolError(`count ${count} is too large`)
  return Number(count)
}

export function encodeDial(connections: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16BE(connections)
  return buffer
}

export const decodeDial = (bytes: Buffer): number => bytes.readUInt16BE()

function decodeId(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (!id.test(text)) throw new ProtocolError('an id is malformed')
  return text
}
