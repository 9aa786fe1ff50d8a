import t from 'tap'
import { bar } from '../chart.ts'

t.test('a bar is as long as its share, to an eighth of a column', async t => {
  t.equal(bar(0, 0), '')
  t.equal(bar(0, 100), '')
  t.equal(bar(100, 100), '█'.repeat(32))
  t.equal(bar(50, 100), '█'.repeat(16))
  t.equal(bar(1, 1_000_000), '▏', 'any value above 0 is visible')
})
