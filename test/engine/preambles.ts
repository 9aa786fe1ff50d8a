// PROXY protocol headers as preambles, and a reader for version 2 (proxy-protocol.txt of HAProxy).
import type { Preamble, PreamblePart } from '../../agent/engine/preamble.ts'

const bytes = (text: string): PreamblePart => ({ bytes: Buffer.from(text, 'latin1') })
const text = (field: Extract<PreamblePart, { field: unknown }>['field']): PreamblePart => ({
  field,
  form: 'text'
})
const binary = (field: Extract<PreamblePart, { field: unknown }>['field']): PreamblePart => ({
  field,
  form: 'binary'
})

const line = (family: string): PreamblePart[] => [
  bytes(`PROXY ${family} `),
  text('source_address'),
  bytes(' '),
  text('listen_address'),
  bytes(' '),
  text('source_port'),
  bytes(' '),
  text('listen_port'),
  bytes('\r\n')
]

export const proxyV1: Preamble = { ipv4: line('TCP4'), ipv6: line('TCP6'), datagrams: 'first' }

const signature = '\r\n\r\n\0\r\nQUIT\n'
const authority = '\x02'
const crc = '\x03\0\x04'
const uniqueId = '\x05'

/** `family`: 1 IPv4, 2 IPv6; `transport`: 1 TCP, 2 UDP. */
const header = (family: number, transport: number): PreamblePart[] => [
  bytes(`${signature}\x21${String.fromCharCode(family * 16 + transport)}`),
  {
    length: 2,
    of: [
      binary('source_address'),
      binary('listen_address'),
      binary('source_port'),
      binary('listen_port'),
      { whenNamed: [bytes(authority), { length: 2, of: [text('server_name')] }] },
      bytes(uniqueId),
      { length: 2, of: [binary('connection_id')] },
      bytes(crc),
      { crc32c: true }
    ]
  }
]

export const proxyV2 = (transport: 'tcp' | 'udp', datagrams: Preamble['datagrams'] = 'first'): Preamble => {
  const number = transport === 'tcp' ? 1 : 2
  return { ipv4: header(1, number), ipv6: header(2, number), datagrams }
}

export interface ProxyHeader {
  readonly kind: number // family and transport
  readonly addresses: Buffer
  readonly ports: readonly [source: number, listen: number]
  readonly values: Readonly<Record<number, Buffer>> // by type
  readonly isIntact: boolean
  readonly rest: Buffer // bytes after the header
}

export function readProxyV2(all: Buffer): ProxyHeader {
  if (all.toString('latin1', 0, 13) !== `${signature}\x21`)
    throw new TypeError(`no header: ${all.toString('hex')}`)
  const end = 16 + all.readUInt16BE(14)
  const kind = all.readUInt8(13)
  const portsAt = 16 + (kind >> 4 === 1 ? 8 : 32)
  const values: Record<number, Buffer> = {}
  const zeroed = Buffer.from(all.subarray(0, end))
  for (let at = portsAt + 4; at < end; at += 3 + all.readUInt16BE(at + 1)) {
    values[all.readUInt8(at)] = all.subarray(at + 3, at + 3 + all.readUInt16BE(at + 1))
    if (all.readUInt8(at) === 3) zeroed.fill(0, at + 3, at + 7)
  }
  return {
    kind,
    addresses: all.subarray(16, portsAt),
    ports: [all.readUInt16BE(portsAt), all.readUInt16BE(portsAt + 2)],
    values,
    isIntact: values[3]?.readUInt32BE() === crc32c(zeroed),
    rest: all.subarray(end)
  }
}

/** Bit by bit, as polynomial division; crc32c('123456789') is 0xe3069283. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes)
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = ((crc ^ (byte >> bit)) & 1) === 1
      crc = (crc >>> 1) ^ (isOdd ? 0x82f63b78 : 0)
    }
  return (crc ^ 0xffffffff) >>> 0
}
