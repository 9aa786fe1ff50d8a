import t from 'tap'
import { exactQuantity, formatRate, formatSize, parseQuantity } from '../../http/command-exports.ts'
import { cut, fit, widthOf } from '../terminal/column-width.ts'
import { openPrint } from '../terminal/print.ts'

const now = Date.parse('2026-01-15T12:00:00Z')

function print(rows: object | readonly object[], width?: number) {
  const out: string[] = []
  const err: string[] = []
  const paint = (style: string, text: string) => (style === 'bold' ? text : `<${style}>${text}</>`)
  openPrint(
    'table',
    text => out.push(text),
    text => err.push(text),
    width === undefined ? undefined : { width, now, paint }
  ).data(rows)
  return { out: out.join('\n'), err }
}

const printed = (rows: readonly object[], width?: number): string => print(rows, width).out

t.test('a table fits the terminal: texts are cut, ids are not', async t => {
  const rows = [
    { client_id: '01K9ZJ4M5N6P7Q8R9S0TABCDEF', client_name: 'a name that is longer than it needs to be' }
  ]

  const lines = printed(rows, 50).split('\n')

  t.ok(lines.every(line => widthOf(line) <= 50))
  t.match(lines[1], /^01K9ZJ4M5N6P7Q8R9S0TABCDEF {2}a name that is longer…$/)
})

t.test('output to a pipe is never cut', async t => {
  t.match(printed([{ name: 'x'.repeat(500) }]), 'x'.repeat(500))
})

t.test('a terminal of unknown width shows all columns', async t => {
  const { out, err } = print([{ name: 'web', description: 'x'.repeat(500) }], 0)

  t.match(out, `web   ${'x'.repeat(500)}`)
  t.same(err, [])
})

t.test('columns align by display width', async t => {
  const lines = printed([
    { name: '東京', state: 'up' },
    { name: 'e\u0301te\u0301', state: 'up' },
    { name: '👩‍🚀', state: 'up' }
  ]).split('\n')

  const columns = lines.slice(1).map(line => widthOf(line.slice(0, line.indexOf('up'))))
  t.same(columns, [6, 6, 6])
})

t.test('a cut text ends with an ellipsis and has no split character', async t => {
  t.equal(cut('東京都', 4), '東…')
  t.equal(cut('abc', 3), 'abc')
  t.equal(cut('abcd', 3), 'ab…')
})

t.test('texts are narrowed to 12, then columns are omitted from the right, but never the first', async t => {
  const text = (width: number) => ({ width, isRigid: false })
  const rigid = (width: number) => ({ width, isRigid: true })

  t.same(fit([text(4), text(5)], 80), [4, 5])
  t.same(fit([rigid(26), text(40)], 60), [26, 32])
  t.same(fit([rigid(26), text(40), rigid(10), text(40)], 50), [26, 22])
  t.same(fit([rigid(26), rigid(26)], 10), [26])
})

const quota = {
  user_id: 'ann',
  bytes_used: 500_000_000,
  period_end: '2026-02-01T00:00:00.000Z',
  note: 'x'.repeat(60)
}

t.test('a number is never cut; columns that do not fit are omitted and listed', async t => {
  const { out, err } = print([quota], 26)

  t.equal(out, 'USER_ID  BYTES_USED\nann      500 MB')
  t.same(err, ['omitted: period_end, note; use a wider terminal or --output json'])
})

t.test('a terminal shows ages and colors; a pipe gets exact times without colors', async t => {
  const edge = { state: 'failed', seen_at: '2026-01-15T11:55:00.000Z', until: '2026-01-15T15:00:00.000Z' }

  t.equal(printed([edge], 80), 'STATE   SEEN_AT    UNTIL\n<red>failed</>  5 min ago  in 3 h')
  t.equal(print(edge, 80).out.split('\n')[1], 'seen_at  2026-01-15T11:55:00.000Z (5 min ago)')
  t.match(printed([edge]), /^failed {2}2026-01-15T11:55:00.000Z {2}2026-01-15T15:00:00.000Z$/m)
  t.equal(printed([{ name: 'failed' }], 80), 'NAME\nfailed', 'a name is not colored like a state')
})

t.test('a quantity is a whole number with a prefix, a unit or both', async t => {
  const sizes = { '500M': 500_000_000, '1.5 GB': 1_500_000_000, '2GiB': 2 ** 31, '0.5k': 500, '7 B': 7 }
  for (const [text, size] of Object.entries(sizes)) t.equal(parseQuantity(text, 'B'), size, text)
  for (const text of ['50M', '50 Mbit/s', '50Mbps']) t.equal(parseQuantity(text, 'bit/s'), 50_000_000, text)
  for (const text of ['500', '1.5', '500m', '0.0001k', '9999999T', '-1k', '1e3k', '', '5 Mbit/s', '5 MX'])
    t.equal(parseQuantity(text, 'B'), null, text)
  t.equal(parseQuantity('50 MB', 'bit/s'), null, 'bytes are not bits')
  for (const size of [0, 7, 1500, 50_000_000, 123_456_789, 2 ** 31 + 1, Number.MAX_SAFE_INTEGER])
    t.equal(parseQuantity(exactQuantity(size, 'B'), 'B'), size, exactQuantity(size, 'B'))
})

t.test('bytes and bits have short numbers with a unit; --bytes prints all digits', async t => {
  const row = {
    bytes_in: 1536,
    monthly_bytes: 500_000_000,
    'rate_limit.bandwidth_in_bps': 50_000_000,
    open: 999
  }

  t.match(print([row]).out, /1\.5 kB +500 MB +50 Mbit\/s +999/)
  const lines: string[] = []
  openPrint(
    'table',
    text => lines.push(text),
    () => {},
    undefined,
    'exact'
  ).data([row])
  t.match(lines[0], /1536 +500000000 +50000000 +999/)
  t.equal(formatSize(0), '0 B')
  t.equal(formatSize(999), '999 B')
  t.equal(formatSize(Number.MAX_SAFE_INTEGER), '9.0 PB')
  t.equal(formatRate(1_200_000), '1.2 Mbit/s')
})

t.test('text of a server cannot manipulate the terminal, in any format', async t => {
  const hostile = '\u001b]0;x\u0007\u001b[8m\u202e\u009b31m'
  const escaped = '\\u001b]0;x\\u0007\\u001b[8m\\u202e\\u009b31m'
  const written: string[] = []
  const write = (text: string) => written.push(text)
  const paint = (_: string, text: string) => `\u001b[32m${text}\u001b[39m`
  const table = openPrint('table', write, write, { width: 80, now, paint })
  table.done(`a\n\t${hostile}`, {})
  table.note(hostile)
  table.value('uri', hostile)
  table.text(hostile)
  table.data({ id: 'x' }, undefined, hostile)
  table.done(table.paint('active'), {})
  openPrint('json', write, write).data({ name: hostile })

  t.same(written, [
    `a\n\t${escaped}`,
    escaped,
    escaped,
    escaped,
    'id  x',
    escaped,
    '\u001b[32mactive\u001b[39m',
    `{\n  "name": "${escaped}"\n}`
  ])
  t.equal(JSON.parse(written.at(-1) ?? '').name, hostile)
})
