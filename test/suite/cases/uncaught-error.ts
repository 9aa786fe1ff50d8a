// Input of suite.test.ts: a timer of the test throws.
import t from 'tap'

t.test('a test with a timer that throws', async () => {
  await new Promise(() => {
    setTimeout(() => {
      throw new Error('thrown by a timer')
    })
  })
})
t.test('the test after it', async t => {
  t.pass()
})
