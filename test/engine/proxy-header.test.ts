// Both parsers of PROXY protocol headers: TypeScript, and C++ where there is a compiler.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { parseProxyHeader } from '../../agent/portable-engine/proxy-header.ts'
import { generateHeaders } from './generated-headers.ts'
import { type HeaderCase, headerCases } from './proxy-headers.ts'

const native = join(import.meta.dirname, '../../native')
const judge = join(t.testdir(), 'proxy-headers')
const sources = ['test/proxy-headers.cc', 'src/proxy-header.cc', 'src/address.cc'].map(file =>
  join(native, file)
)
const flags = ['-std=c++20', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']
const compiled = spawnSync('g++', [...flags, '-o', judge, ...sources], { encoding: 'utf8' })

function inTypeScript(bytes: Buffer): string {
  const { kind, size, named } = parseProxyHeader(bytes, 'stream')
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

t.test('both parsers judge 20,000 generated headers alike', { skip: compiled.status !== 0 }, async t => {
  const headers = [...generateHeaders(20_000)]

  const [ours, theirs] = [headers.map(inTypeScript), inCpp(headers)]

  const differing = headers.flatMap((bytes, i) =>
    ours[i] === theirs[i] ? [] : [{ bytes: bytes.toString('latin1'), ours: ours[i], theirs: theirs[i] }]
  )
  t.same(differing, [])
  for (const kind of ['named', 'unnamed', 'wrong', 'incomplete'])
    t.ok(ours.filter(line => line.startsWith(`${kind} `)).length > 500, kind)
})
