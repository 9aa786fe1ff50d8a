import t from 'tap'
import { entryLines } from '../commands.ts'
import { codesIn, prefixesIn } from '../countries.ts'
import { pack } from '../packed-prefixes.ts'
import { parseAddress, type Range, rangesToPrefixes } from '../ranges.ts'
import { maxListEntries, maxPackedBytes } from '../wire.ts'

const file = `# a comment
"first","last","country","name"
"192.0.2.0","192.0.2.127","DE","Germany"
192.0.2.128 , 192.0.2.255 , de
198.51.100.0/24,AT,more,columns
198.51.100.0/25,AT

2001:db8::,2001:db8:0:ffff:ffff:ffff:ffff:ffff,DE
2001:db8:1::/48,AT
203.0.113.0,203.0.113.9,FR
203.0.113.10,203.0.113.11,-
203.0.113.12,203.0.113.13,
`

t.test('ranges and prefixes of the countries become the fewest prefixes', async t => {
  t.same(prefixesIn(file, ['DE']), ['192.0.2.0/24', '2001:db8::/48'])
  t.same(prefixesIn(file, ['DE', 'AT']), ['192.0.2.0/24', '198.51.100.0/24', '2001:db8::/47'])
  t.same(prefixesIn(file.replaceAll('\n', '\r\n'), ['FR']), ['203.0.113.0/29', '203.0.113.8/31'])
})

t.test('a line without a range is refused with its number', async t => {
  for (const line of [
    '192.0.2.9,192.0.2.1,DE',
    '192.0.2.0,2001:db8::,DE',
    '192.0.2.0/33,DE',
    '192.0.2.0/24',
    'first,last,country',
    '3221225984,3221226239,DE'
  ])
    t.throws(() => prefixesIn(`192.0.2.0/24,DE\n${line}\n`, ['DE']), /^line 2 is neither/, line)
  t.throws(() => prefixesIn(file, ['DE', 'US']), /no range for US/)
})

t.test('country codes have two letters', async t => {
  t.same(codesIn('de, AT,DE'), ['DE', 'AT'])
  for (const bad of ['', 'DEU', 'D1', 'DE,']) t.throws(() => codesIn(bad), /is not a country code/, bad)
})

/** Returns this many separate prefixes: IPv4 /24 and IPv6 /48. */
function* separate(ipv4: number, ipv6: number, code: string): Generator<string> {
  for (let at = 0; at < ipv4; at++)
    yield `${1 + (at >> 15)}.${(at >> 7) & 255}.${(at << 1) & 255}.0/24,${code}`
  for (let at = 0; at < ipv6; at++)
    yield `2a00:${(at >> 8).toString(16)}:${((at & 255) << 4).toString(16)}::/48,${code}`
}

t.test('a country as large as the United States fits into a list', async t => {
  const prefixes = prefixesIn([...separate(16_000, 15_000, 'US')].join('\n'), ['US'])
  t.equal(prefixes.length, 31_000)
  t.ok(pack(prefixes).length <= maxPackedBytes, `${pack(prefixes).length} bytes`)
  t.ok(JSON.stringify({ entries: prefixes }).length < 2 ** 20, 'it also fits into one request')
})

t.test('a country that is too large is refused with the count of each family', async t => {
  const rows = [...separate(maxListEntries - 10, 0, 'US'), '2001:db8::/32,DE', '2001:db9::/32,DE']
  t.equal(
    prefixesIn(rows.join('\n'), ['US', 'DE']).length,
    maxListEntries - 9,
    'two adjacent prefixes become one'
  )
  const more = [...rows, ...separate(0, 100, 'AT')].join('\n')
  t.throws(
    () => prefixesIn(more, ['US', 'DE', 'AT']),
    /a list has room for 40000 prefixes, got \d+ \(US: 39990 IPv4 and 0 IPv6, DE: 0 IPv4 and 1 IPv6,.*fewer countries/
  )
})

t.test('prefixes cover random ranges exactly, and are the fewest', async t => {
  const size = 256 // addresses of 10.0.0.0/24
  const base = parseAddress('10.0.0.0')?.first ?? 0n
  const random = (below: number): number => Math.floor(Math.random() * below)
  for (let round = 0; round < 300; round++) {
    const wanted = Array<boolean>(size).fill(false)
    const ranges = Array.from({ length: 1 + random(8) }, (): Range => {
      const first = random(size)
      const last = Math.min(size - 1, first + random(40))
      wanted.fill(true, first, last + 1)
      return { bytes: 4, first: base + BigInt(first), last: base + BigInt(last) }
    })

    const prefixes = rangesToPrefixes(ranges)

    const found = Array<boolean>(size).fill(false)
    for (const prefix of prefixes) {
      const [address = '', bits = '32'] = prefix.split('/')
      const first = Number((parseAddress(address)?.first ?? 0n) - base)
      found.fill(true, first, first + 2 ** (32 - Number(bits)))
    }
    t.same(found, wanted)
    t.equal(prefixes.length, fewest(wanted))
  }
})

/** Counts the fewest prefixes of a block by halving it until all or none of it is wanted. */
function fewest(wanted: readonly boolean[]): number {
  if (!wanted.includes(true)) return 0
  if (!wanted.includes(false)) return 1
  const half = wanted.length / 2
  return fewest(wanted.slice(0, half)) + fewest(wanted.slice(half))
}

t.test('without countries, a file has one entry per line', async t => {
  t.same(entryLines('192.0.2.0/24\n2001:db8::/32 # documentation\n'), ['192.0.2.0/24', '2001:db8::/32'])
})
