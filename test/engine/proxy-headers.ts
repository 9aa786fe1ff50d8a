// Valid and invalid PROXY protocol headers (proxy-protocol.txt of HAProxy), with the expected result of an engine.
import { crc32c } from './preambles.ts'

/** 'wrong', 'unnamed' (the sender is the caller), or the addresses in the header. */
export type Judgement = 'wrong' | 'unnamed' | { readonly source: string; readonly destination: string }

export interface HeaderCase {
  readonly bytes: Buffer
  readonly means: Judgement
  readonly inDatagrams?: Judgement // if it differs in a datagram
}

export const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

export interface BinaryParts {
  readonly command?: number // version and command
  readonly kind?: number // family and transport
  readonly block?: Buffer // addresses and ports
  readonly values?: readonly (readonly [type: number, value: Buffer])[]
  readonly length?: number // overrides the true one
}

export function binaryHeader({
  command = 0x21,
  kind = 0x11,
  block = ipv4,
  values = [],
  length
}: BinaryParts = {}): Buffer {
  const tail = Buffer.concat([
    block,
    ...values.flatMap(([type, value]) => [tlvHead(type, value.length), value])
  ])
  const head = Buffer.from([command, kind, 0, 0])
  head.writeUInt16BE(length ?? tail.length, 2)
  return Buffer.concat([signature, head, tail])
}

const tlvHead = (type: number, length: number) => Buffer.from([type, length >> 8, length & 255])

/** Returns the header with its checksum, which is the last four bytes of its last value. */
export function withChecksum(parts: BinaryParts): Buffer {
  const header = binaryHeader({ ...parts, values: [...(parts.values ?? []), [3, Buffer.alloc(4)]] })
  const sum = crc32c(header)
  header.writeUInt32BE(sum, header.length - 4)
  return header
}

export const ipv4 = Buffer.from([192, 0, 2, 1, 198, 51, 100, 7, 0x30, 0x39, 0x01, 0xbb])
const six = (hex: string) => Buffer.from(hex.padEnd(32, '0'), 'hex')
const ports = Buffer.from([0x30, 0x39, 0x01, 0xbb])
export const ipv6 = Buffer.concat([six('20010db8'), six('20010db80001'), ports])
const mapped = (address: number[]) => Buffer.concat([Buffer.alloc(10), Buffer.from([255, 255, ...address])])

const named4 = { source: '192.0.2.1 12345', destination: '198.51.100.7 443' }
const named6 = { source: '2001:db8:: 12345', destination: '2001:db8:1:: 443' }

const text = (line: string): Buffer => Buffer.from(line, 'latin1')
const line4 = 'PROXY TCP4 192.0.2.1 198.51.100.7 12345 443\r\n'

const full = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
const longest = `PROXY TCP6 ${full} ${full} 65535 65535\r\n` // 104 bytes

export const headerCases: Readonly<Record<string, HeaderCase>> = {
  'version 1, IPv4': { bytes: text(line4), means: named4 },
  'version 1, IPv6': {
    bytes: text('PROXY TCP6 2001:DB8:0:0::0 2001:db8:1:: 12345 443\r\n'),
    means: named6
  },
  'version 1, IPv4 in IPv6': {
    bytes: text('PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.7 12345 443\r\n'),
    means: named4
  },
  'version 1, smallest and largest ports': {
    bytes: text('PROXY TCP4 192.0.2.1 198.51.100.7 0 65535\r\n'),
    means: { source: '192.0.2.1 0', destination: '198.51.100.7 65535' }
  },
  'version 1, unknown': { bytes: text('PROXY UNKNOWN\r\n'), means: 'unnamed' },
  'version 1, unknown with addresses': {
    bytes: text('PROXY UNKNOWN 1.1.1.1 2.2.2.2 1 2\r\n'),
    means: 'wrong'
  },
  'version 1, the longest line': {
    bytes: text(longest),
    means: {
      source: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535',
      destination: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535'
    }
  },
  'version 1, a line that is too long': { bytes: text(longest.replace('\r', ' '.repeat(4))), means: 'wrong' },
  'version 1, another family': { bytes: text(line4.replace('TCP4', 'TCP5')), means: 'wrong' },
  'version 1, UDP': { bytes: text(line4.replace('TCP4', 'UDP4')), means: 'wrong' },
  'version 1, lower case': { bytes: text(line4.toLowerCase()), means: 'wrong' },
  'version 1, IPv6 as TCP4': {
    bytes: text('PROXY TCP4 2001:db8:: 2001:db8:1:: 12345 443\r\n'),
    means: 'wrong'
  },
  'version 1, IPv4 as TCP6': { bytes: text(line4.replace('TCP4', 'TCP6')), means: 'wrong' },
  'version 1, families that differ': {
    bytes: text('PROXY TCP6 ::ffff:192.0.2.1 2001:db8:: 12345 443\r\n'),
    means: 'wrong'
  },
  'version 1, a zone': { bytes: text('PROXY TCP6 fe80::1%eth0 fe80::2 12345 443\r\n'), means: 'wrong' },
  'version 1, two spaces': { bytes: text(line4.replace(' 198', '  198')), means: 'wrong' },
  'version 1, a tab': { bytes: text(line4.replace(' 198', '\t198')), means: 'wrong' },
  'version 1, a space at the end': { bytes: text(line4.replace('\r', ' \r')), means: 'wrong' },
  'version 1, a word more': { bytes: text(line4.replace('\r', ' 1\r')), means: 'wrong' },
  'version 1, a word less': { bytes: text(line4.replace(' 443', '')), means: 'wrong' },
  'version 1, a port with a leading zero': { bytes: text(line4.replace('443', '0443')), means: 'wrong' },
  'version 1, a port of 65536': { bytes: text(line4.replace('443', '65536')), means: 'wrong' },
  'version 1, a port with a sign': { bytes: text(line4.replace('443', '+443')), means: 'wrong' },
  'version 1, a hexadecimal port': { bytes: text(line4.replace('443', '0x1b')), means: 'wrong' },
  'version 1, an address with a leading zero': {
    bytes: text(line4.replace('192.0.2.1', '192.0.2.01')),
    means: 'wrong'
  },
  'version 1, an address of three numbers': {
    bytes: text(line4.replace('192.0.2.1', '192.0.513')),
    means: 'wrong'
  },
  'version 1, a zero byte behind an address': {
    bytes: text(line4.replace('2.1 ', '2.1\0 ')),
    means: 'wrong'
  },
  'version 1, a line feed without a carriage return': {
    bytes: text(line4.replace('\r\n', `\n${' '.repeat(70)}`)),
    means: 'wrong'
  },
  'version 2, IPv4': { bytes: binaryHeader(), means: named4 },
  'version 2, IPv6': { bytes: binaryHeader({ kind: 0x21, block: ipv6 }), means: named6 },
  'version 2, IPv4 in IPv6': {
    bytes: binaryHeader({
      kind: 0x21,
      block: Buffer.concat([mapped([192, 0, 2, 1]), mapped([198, 51, 100, 7]), ports])
    }),
    means: named4
  },
  'version 2, families that differ': {
    bytes: binaryHeader({ kind: 0x21, block: Buffer.concat([mapped([192, 0, 2, 1]), six('2001'), ports]) }),
    means: 'wrong'
  },
  'version 2, datagrams in a stream': {
    bytes: binaryHeader({ kind: 0x12 }),
    means: 'wrong',
    inDatagrams: named4
  },
  'version 2, LOCAL': { bytes: binaryHeader({ command: 0x20, kind: 0, block: text('') }), means: 'unnamed' },
  'version 2, LOCAL with any block': {
    bytes: binaryHeader({ command: 0x20, kind: 0xff, block: text('any') }),
    means: 'unnamed'
  },
  'version 2, no family': { bytes: binaryHeader({ kind: 0, block: text('') }), means: 'unnamed' },
  'version 2, no transport': { bytes: binaryHeader({ kind: 0x10 }), means: 'wrong' },
  'version 2, a Unix socket': {
    bytes: binaryHeader({ kind: 0x31, block: Buffer.alloc(216, 'x') }),
    means: 'wrong'
  },
  'version 2, values': {
    bytes: binaryHeader({
      values: [
        [2, text('a.test')],
        [5, Buffer.alloc(128)],
        [0xea, text('')]
      ]
    }),
    means: named4
  },
  'version 2, of 536 bytes': { bytes: binaryHeader({ values: [[4, Buffer.alloc(505)]] }), means: named4 },
  'version 2, of 537 bytes': { bytes: binaryHeader({ values: [[4, Buffer.alloc(506)]] }), means: 'wrong' },
  'version 2, a checksum': {
    bytes: withChecksum({ kind: 0x21, block: ipv6, values: [[4, text('x')]] }),
    means: named6
  },
  'version 2, a wrong checksum': { bytes: binaryHeader({ values: [[3, text('1234')]] }), means: 'wrong' },
  'version 2, a checksum of three bytes': {
    bytes: binaryHeader({ values: [[3, text('123')]] }),
    means: 'wrong'
  },
  'version 2, a unique id of 129 bytes': {
    bytes: binaryHeader({ values: [[5, Buffer.alloc(129)]] }),
    means: 'wrong'
  },
  'version 2, a value that is longer than the header': {
    bytes: binaryHeader({ block: Buffer.concat([ipv4, Buffer.from([4, 0, 9, 1])]) }),
    means: 'wrong'
  },
  'version 2, two bytes that are no value': {
    bytes: binaryHeader({ block: Buffer.concat([ipv4, Buffer.from([4, 0])]) }),
    means: 'wrong'
  },
  'version 2, a length without room for the addresses': {
    bytes: binaryHeader({ length: 11 }),
    means: 'wrong'
  },
  'version 1 of the binary form': { bytes: binaryHeader({ command: 0x11 }), means: 'wrong' },
  'version 3': { bytes: binaryHeader({ command: 0x31 }), means: 'wrong' },
  'version 2, an unknown command': { bytes: binaryHeader({ command: 0x22 }), means: 'wrong' },
  'version 2, an unknown family': { bytes: binaryHeader({ kind: 0x41 }), means: 'wrong' },
  'version 2, an unknown transport': { bytes: binaryHeader({ kind: 0x13 }), means: 'wrong' },
  'another protocol': { bytes: text('GET / HTTP/1.1\r\n\r\n'), means: 'wrong' },
  'almost the signature': { bytes: text('\r\n\r\n\0\r\nQUIT\r'), means: 'wrong' }
}
