import t from 'tap'
import { formatSize } from '../../../kernel/platform/format-size.ts'
import { bar } from '../chart.ts'

t.test('a bar is as long as its share, to an eighth of a column', async t => {
  t.equal(bar(0, 0), '')
  t.equal(bar(0, 100), '')
  t.equal(bar(100, 100), '█'.repeat(32))
  t.equal(bar(50, 100), '█'.repeat(16))
  t.equal(bar(1, 1_000_000), '▏', 'any value above 0 is visible')
})

t.test('a size is a short number with a unit', async t => {
  t.equal(formatSize(0), '0 B')
  t.equal(formatSize(999), '999 B')
  t.equal(formatSize(1536), '1.5 kB')
  t.equal(formatSize(500_000_000), '500 MB')
  t.equal(formatSize(Number.MAX_SAFE_INTEGER), '9.0 PB')
})
