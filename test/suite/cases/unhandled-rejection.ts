// Input of suite.test.ts: the test leaves a rejection unhandled.
import t from 'tap'

t.test('a test with an unhandled rejection', async t => {
  void Promise.reject(new Error('not handled'))
  await new Promise(resolve => setTimeout(resolve))
  t.pass()
})
