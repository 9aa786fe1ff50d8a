// Input of suite.test.ts: the test hangs.
import t from 'tap'

t.test('a test that hangs', { timeout: 100 }, async () => {
  const timer = setInterval(() => {}, 1000)
  await new Promise(() => timer.ref())
})
