// The headers of the PROXY protocol (proxy-protocol.txt of HAProxy), as parts for the engine.
import type { Preamble, PreambleField, PreamblePart } from '../../agent/plugin.ts'

/** Returns the header of a version for the targets of a rule. */
export const proxyPreamble = (version: number, protocol: 'tcp' | 'udp'): Preamble =>
  version === 1 ? textHeader : binaryHeader(protocol)

const bytes = (text: string): PreamblePart => ({ bytes: Buffer.from(text, 'latin1') })
const text = (field: PreambleField): PreamblePart => ({ field, form: 'text' })
const binary = (field: PreambleField): PreamblePart => ({ field, form: 'binary' })

const line = (family: 'TCP4' | 'TCP6'): PreamblePart[] => [
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

const textHeader: Preamble = {
  ipv4: line('TCP4'),
  ipv6: line('TCP6'),
  datagrams: 'first',
  probe: Buffer.from('PROXY UNKNOWN\r\n')
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const commands = { local: 0x20, proxy: 0x21 } // with the version in the high bits
const families = { ipv4: 1, ipv6: 2 }
const transports = { tcp: 1, udp: 2 }
const tlv = { authority: 2, crc32c: 3, uniqueId: 5 }

const binaryHeader = (protocol: 'tcp' | 'udp'): Preamble => ({
  ipv4: block(families.ipv4, transports[protocol]),
  ipv6: block(families.ipv6, transports[protocol]),
  datagrams: 'first',
  probe: Buffer.concat([signature, Buffer.of(commands.local, 0, 0, 0)])
})

const block = (family: number, transport: number): PreamblePart[] => [
  { bytes: Buffer.concat([signature, Buffer.of(commands.proxy, (family << 4) | transport)]) },
  {
    length: 2,
    of: [
      ...(['source_address', 'listen_address', 'source_port', 'listen_port'] as const).map(binary),
      { whenNamed: value(tlv.authority, text('server_name')) },
      ...value(tlv.uniqueId, binary('connection_id')),
      ...value(tlv.crc32c, { crc32c: true })
    ]
  }
]

const value = (type: number, part: PreamblePart): PreamblePart[] => [
  { bytes: Buffer.of(type) },
  { length: 2, of: [part] }
]
