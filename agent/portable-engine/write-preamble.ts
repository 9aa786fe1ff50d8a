// Writes the preamble of a connection or flow from the parts of its rule.
import { randomBytes } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { SocketAddress } from '../engine/ended-connection.ts'
import type { Preamble, PreambleField, PreamblePart } from '../engine/preamble.ts'
import { canonicalAddress } from '../net/address.ts'
import { crc32c } from './crc32c.ts'

export interface PreambleValues {
  readonly source: SocketAddress
  readonly listen: SocketAddress
  readonly serverName: string // empty: none
}

const maxNameBytes = 255

export function writePreamble(
  { ipv4, ipv6 }: Preamble,
  { source, listen, serverName }: PreambleValues
): Buffer {
  const name = serverName.length > maxNameBytes ? '' : serverName
  const id = randomBytes(16)
  const fields: Readonly<Record<PreambleField, Field>> = {
    source_address: addressField(source),
    source_port: portField(source),
    listen_address: addressField(listen),
    listen_port: portField(listen),
    server_name: { text: name, binary: Buffer.from(name) },
    connection_id: { text: id.toString('hex'), binary: id }
  }
  const bytes: number[] = []
  let checksumAt: number | null = null

  const write = (parts: readonly PreamblePart[]) => parts.forEach(writePart)
  function writePart(part: PreamblePart): void {
    if ('bytes' in part) bytes.push(...part.bytes)
    else if ('field' in part) bytes.push(...Buffer.from(fields[part.field][part.form]))
    else if ('whenNamed' in part) write(name === '' ? [] : part.whenNamed)
    else if ('crc32c' in part) checksumAt = bytes.push(0, 0, 0, 0) - 4
    else writeWithLength(part.length, part.of)
  }
  function writeWithLength(width: 1 | 2, parts: readonly PreamblePart[]): void {
    const at = bytes.length
    write(parts)
    const length = bytes.length - at
    bytes.splice(at, 0, ...(width === 1 ? [length] : [length >> 8, length & 255]))
    if (checksumAt !== null && checksumAt >= at) checksumAt += width
  }

  write(isIPv4(canonicalAddress(source.address)) ? ipv4 : ipv6)
  const preamble = Buffer.from(bytes)
  if (checksumAt !== null) preamble.writeUInt32BE(crc32c(preamble), checksumAt)
  return preamble
}

interface Field {
  readonly text: string
  readonly binary: Buffer
}

const portField = ({ port }: SocketAddress): Field => ({
  text: String(port),
  binary: Buffer.from([port >> 8, port & 255])
})

function addressField({ address }: SocketAddress): Field {
  const text = canonicalAddress(address)
  return { text, binary: Buffer.from(isIPv4(text) ? text.split('.').map(Number) : ipv6Bytes(text)) }
}

function ipv6Bytes(address: string): number[] {
  const { hostname } = new URL(`http://[${address}]`) // has no dotted groups
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::')
  const groupsIn = (text: string) => (text === '' ? [] : text.split(':'))
  const first = groupsIn(head)
  const groups = [...first, ...Array<string>(8).fill('0'), ...groupsIn(tail)]
  groups.splice(first.length, groups.length - 8)
  return groups.map(group => Number.parseInt(group, 16)).flatMap(group => [group >> 8, group & 255])
}
