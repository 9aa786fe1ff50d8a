// Input of suite.test.ts: an assertion fails.
import t from 'tap'

t.test('a test that fails', async t => {
  t.equal(1, 2)
})
