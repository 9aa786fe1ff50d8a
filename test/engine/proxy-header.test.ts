// Both parsers of PROXY protocol headers: TypeScript, and C++ where there is a compiler.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { parseProxyHeader } from '../../agent/portable-engine/proxy-header.ts'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { binaryHeader, type HeaderCase, headerCases, ipv4, ipv6, withChecksum } from './proxy-headers.ts'

const native = join(import.meta.dirname, '../../native')
const judge = join(t.testdir(), 'proxy-headers')
const sources = ['test/proxy-headers.cc', 'src/proxy-header.cc', 'src/address.cc'].map(file =>
  join(native, file)
)
const flags = ['-std=c++20', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']
const compiled = spawnSync('g++', [...flags, '-o', judge, ...sources], { encoding: 'utf8' })

function inTypeScript(bytes: Buffer): string {
  const { kind, size, named } = parseProxyHeader(bytes)
  if (kind !== 'right') return `${kind} 0`
  if (!named) return `unnamed ${size}`
  const { caller, destination } = named
  return `named ${size} ${caller.address} ${caller.port} ${destination.address} ${destination.port}`
}

function inCpp(all: readonly Buffer[]): string[] {
  const input = all.flatMap(bytes => [Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
  const { stdout, stderr, status } = spawnSync(judge, { input: Buffer.concat(input), maxBuffer: 2 ** 26 })
  if (status !== 0) throw new Error(String(stderr))
  return String(stdout).trimEnd().split('\n')
}

function lineOf({ bytes, means }: HeaderCase): string {
  if (means === 'wrong') return 'wrong 0'
  if (means === 'unnamed') return `unnamed ${bytes.length}`
  return `named ${bytes.length} ${means.source} ${means.destination}`
}

t.test('each header of the table means what the protocol says, with bytes behind it, too', async t => {
  const all = Object.values(headerCases)
  for (const [name, header] of Object.entries(headerCases)) {
    t.equal(inTypeScript(header.bytes), lineOf(header), name)
    const followed = Buffer.concat([header.bytes, Buffer.from('\r\nand more\r\n')])
    if (header.means !== 'wrong') t.equal(inTypeScript(followed), lineOf(header), `${name}, and more`)
  }
  if (compiled.status === 0) t.same(inCpp(all.map(({ bytes }) => bytes)), all.map(lineOf))
})

t.test('a header that is cut is incomplete until its end, or already wrong', async t => {
  const cuts = Object.values(headerCases).flatMap(header =>
    Array.from({ length: header.bytes.length }, (_, end) => ({ header, cut: header.bytes.subarray(0, end) }))
  )
  const expected = cuts.map(({ cut }) => inTypeScript(cut))
  const surprising = cuts.filter(
    ({ header, cut }) =>
      inTypeScript(cut) !== 'incomplete 0' && (header.means !== 'wrong' || inTypeScript(cut) !== 'wrong 0')
  )
  t.same(surprising, [])
  if (compiled.status === 0) t.same(inCpp(cuts.map(({ cut }) => cut)), expected)
})

/** Makes headers by the seed: right ones, changed ones, cut ones, and noise. */
function* generate(count: number): Generator<Buffer> {
  const { below } = seededRandom(20_261_123)
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
  const mixed = () => Buffer.concat([pick([line(), binary(), changed()]), noise(below(60))])
  for (let i = 0; i < count; i++)
    yield pick([line, right6, binary, changed, cut, mixed, () => noise(below(40))])()
}

t.test('both parsers judge 20,000 generated headers alike', { skip: compiled.status !== 0 }, async t => {
  const headers = [...generate(20_000)]

  const [ours, theirs] = [headers.map(inTypeScript), inCpp(headers)]

  const differing = headers.flatMap((bytes, i) =>
    ours[i] === theirs[i] ? [] : [{ bytes: bytes.toString('latin1'), ours: ours[i], theirs: theirs[i] }]
  )
  t.same(differing, [])
  for (const kind of ['named', 'unnamed', 'wrong', 'incomplete'])
    t.ok(ours.filter(line => line.startsWith(`${kind} `)).length > 500, kind)
})
