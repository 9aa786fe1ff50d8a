import t from 'tap'
import { openPrint } from '../print.ts'
import { cut, fit, widthOf } from '../width.ts'

function printed(rows: readonly object[], width?: number): string {
  const out: string[] = []
  const print = openPrint(
    'table',
    text => out.push(text),
    () => {},
    width
  )
  print.data(rows)
  return out.join('\n')
}

t.test('a table is no wider than the terminal: texts are cut, ids are not', async t => {
  const rows = [
    { client_id: '01K9ZJ4M5N6P7Q8R9S0TABCDEF', client_name: 'a name that is longer than it needs to be' }
  ]

  const lines = printed(rows, 50).split('\n')

  t.ok(lines.every(line => widthOf(line) <= 50))
  t.match(lines[1], /^01K9ZJ4M5N6P7Q8R9S0TABCDEF {2}a name that is longer…$/)
})

t.test('nothing is cut in a pipe', async t => {
  t.match(printed([{ name: 'x'.repeat(500) }]), 'x'.repeat(500))
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

t.test('a cut never splits a character and ends with an ellipsis', async t => {
  t.equal(cut('東京都', 4), '東…')
  t.equal(cut('abc', 3), 'abc')
  t.equal(cut('abcd', 3), 'ab…')
})

t.test('each column keeps a minimum width, even if the table does not fit', async t => {
  t.same(fit([40, 26], [false, true], 10), [8, 8])
  t.same(fit([4, 5], [false, false], 80), [4, 5])
})
