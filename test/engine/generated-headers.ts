// Generates PROXY protocol headers from a seed.
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { binaryHeader, headerCases, ipv4, ipv6, withChecksum } from './proxy-headers.ts'

/** Returns valid, changed, cut and oversized headers, and noise. The same seed gives the same headers. */
export function* generateHeaders(count: number, seed = 20_261_123): Generator<Buffer> {
  const { below } = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T // never of an empty list
  const noise = (size: number) => Buffer.from(Array.from({ length: size }, () => below(256)))
  const table = Object.values(headerCases).map(({ bytes }) => bytes)
  const words = [
    'PROXY',
    'TCP4',
    'TCP6',
    'UNKNOWN',
    '1.2.3.4',
    '::1',
    '::ffff:1.2.3.4',
    '1::2::3',
    '0',
    '80',
    '99999',
    ''
  ]
  const line = () =>
    Buffer.from(
      `${['PROXY', ...Array.from({ length: 5 }, () => pick(words))].join(pick([' ', ' ', '  ']))}\r\n`
    )
  const address = () => Array.from({ length: 8 }, () => pick(['0', '0', 'ffff', '1', 'dead'])).join(':')
  const right6 = () =>
    Buffer.from(`PROXY TCP6 ${address()} ${address()} ${below(70_000)} ${below(70_000)}\r\n`)
  const binary = () => {
    const values = Array.from({ length: below(4) }, () => [below(7), noise(below(140))] as const)
    const parts = {
      kind: pick([0x11, 0x12, 0x21, 0x22, 0x31, 0, below(256)]),
      block: pick([ipv4, ipv6, noise(below(300))]),
      values
    }
    return pick([binaryHeader, withChecksum])({ ...parts, command: pick([0x21, 0x21, 0x20, below(256)]) })
  }
  const changed = () => {
    const bytes = Buffer.from(pick(table))
    if (bytes.length > 0) bytes[below(bytes.length)] = below(256)
    return bytes
  }
  const cut = () => {
    const bytes = pick([...table, binary(), line()])
    return bytes.subarray(0, below(bytes.length))
  }
  const tooLong = () => {
    const start = pick(['UNKNOWN', 'TCP4 1.2.3.4 5.6.7.8 9 10', `TCP6 ${address()} ${address()} 1 2`])
    const values = [[4, noise(440 + below(150))]] as const
    return pick([
      Buffer.from(`PROXY ${start}${pick([' ', '0', ' 1']).repeat(below(110))}\r\n`),
      binaryHeader({ kind: 0x11, block: ipv4, values }),
      withChecksum({ kind: 0x21, block: ipv6, values })
    ])
  }
  const mixed = () => Buffer.concat([pick([line(), binary(), changed()]), noise(below(60))])
  for (let i = 0; i < count; i++)
    yield pick([line, right6, binary, changed, cut, tooLong, mixed, () => noise(below(40))])()
}
