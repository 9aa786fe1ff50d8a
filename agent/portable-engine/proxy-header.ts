// Reads a header of the PROXY protocol, version 1 or 2 (proxy-protocol.txt of HAProxy). Accepts any bytes.
import { isIPv4, isIPv6 } from 'node:net'
import type { SocketAddress } from '../engine/ended-connection.ts'
import { canonicalAddress, familyOf } from '../net/address.ts'
import { crc32c } from './crc32c.ts'

/** The result for the bytes so far. Only 'incomplete' changes with more bytes. */
export interface ProxyHeader {
  readonly kind: 'incomplete' | 'wrong' | 'right'
  readonly size: number // of the header; 0 unless it is complete and right
  readonly named: NamedAddresses | null // null: the sender's own addresses
}

interface NamedAddresses {
  readonly caller: SocketAddress
  readonly destination: SocketAddress
}

/** A longer header is wrong. */
export const maxProxyHeaderBytes = 536

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const textStart = Buffer.from('PROXY ')
const maxTextBytes = 107 // the end of the line included
const fixedBytes = 16 // of version 2: signature, version, command, family, transport, length
const tlv = { authority: 2, crc32c: 3, uniqueId: 5 }

const incomplete: ProxyHeader = { kind: 'incomplete', size: 0, named: null }
const wrong: ProxyHeader = { kind: 'wrong', size: 0, named: null }
const right = (size: number, named: NamedAddresses | null): ProxyHeader => ({ kind: 'right', size, named })

export const isBinaryHeader = (bytes: Buffer): boolean =>
  bytes.subarray(0, signature.length).equals(signature)

/** A header in a stream cannot name a caller of datagrams. */
export function parseProxyHeader(bytes: Buffer, carrier: 'stream' | 'datagram'): ProxyHeader {
  if (agree(bytes, textStart)) return bytes.length < textStart.length ? incomplete : parseText(bytes)
  if (agree(bytes, signature))
    return bytes.length < signature.length ? incomplete : parseBinary(bytes, carrier)
  return wrong
}

/** True if one begins with the other. */
function agree(bytes: Buffer, start: Buffer): boolean {
  const size = Math.min(bytes.length, start.length)
  return bytes.subarray(0, size).equals(start.subarray(0, size))
}

function parseText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, maxTextBytes).indexOf('\r\n')
  if (end < 0) return bytes.length < maxTextBytes ? incomplete : wrong
  const line = bytes.toString('latin1', textStart.length, end)
  if (line === 'UNKNOWN') return right(end + 2, null)
  const [family = '', source, destination, sourcePort, destinationPort, ...more] = line.split(' ')
  if (!['TCP4', 'TCP6'].includes(family) || more.length > 0) return wrong
  return named(
    end + 2,
    textAddress(family, source, sourcePort),
    textAddress(family, destination, destinationPort)
  )
}

function textAddress(family: string, address = '', port = ''): SocketAddress | null {
  const isAddress = family === 'TCP4' ? isIPv4(address) : isIPv6(address) && !address.includes('%')
  const isPort = /^(0|[1-9]\d{0,4})$/.test(port) && Number(port) <= 65_535
  return isAddress && isPort ? { address: canonicalAddress(address), port: Number(port) } : null
}

/** The addresses must be of one family. */
function named(size: number, caller: SocketAddress | null, destination: SocketAddress | null): ProxyHeader {
  if (!caller || !destination || familyOf(caller.address) !== familyOf(destination.address)) return wrong
  return right(size, { caller, destination })
}

function parseBinary(bytes: Buffer, carrier: 'stream' | 'datagram'): ProxyHeader {
  const [command = 0x20, kind = 0] = bytes.subarray(signature.length)
  const family = kind >> 4
  const transport = kind & 15
  if (command !== 0x20 && command !== 0x21) return wrong
  const isUnnamed = command === 0x20 || family === 0 // the receiver of a LOCAL command ignores the family
  const isKnown = transport === 1 || (transport === 2 && carrier === 'datagram')
  if (!isUnnamed && (family > 2 || !isKnown)) return wrong
  if (bytes.length < fixedBytes) return incomplete
  const size = fixedBytes + bytes.readUInt16BE(14)
  if (size > maxProxyHeaderBytes) return wrong
  if (bytes.length < size) return incomplete
  if (isUnnamed) return right(size, null)
  return parseBlock(bytes.subarray(0, size), family)
}

function parseBlock(header: Buffer, family: number): ProxyHeader {
  const valuesAt = fixedBytes + (family === 1 ? 12 : 36)
  if (header.length < valuesAt || !areValuesRight(header, valuesAt)) return wrong
  const width = family === 1 ? 4 : 16
  const address = (at: number, portAt: number): SocketAddress => ({
    address: binaryAddress(header.subarray(at, at + width)),
    port: header.readUInt16BE(portAt)
  })
  return named(header.length, address(fixedBytes, valuesAt - 4), address(fixedBytes + width, valuesAt - 2))
}

function binaryAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.')
  return canonicalAddress(bytes.toString('hex').replaceAll(/(....)(?!$)/g, '$1:'))
}

/** Checks the type-length-value parts from `at` to the end of the header. */
function areValuesRight(header: Buffer, at: number): boolean {
  for (let next = at; next < header.length; ) {
    const value = next + 3
    if (value > header.length) return false
    const type = header.readUInt8(next)
    const size = header.readUInt16BE(next + 1)
    next = value + size
    if (next > header.length) return false
    if (type === tlv.crc32c && (size !== 4 || !hasChecksum(header, value))) return false
    if ((type === tlv.authority && size > 255) || (type === tlv.uniqueId && size > 128)) return false
  }
  return true
}

function hasChecksum(header: Buffer, at: number): boolean {
  const zeroed = Buffer.from(header).fill(0, at, at + 4)
  return crc32c(zeroed) === header.readUInt32BE(at)
}
