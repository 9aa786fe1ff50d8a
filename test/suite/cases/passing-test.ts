// Input of suite.test.ts: the test passes.
import t from 'tap'

t.test('a test that passes', async t => {
  t.ok(t.testdir())
})
