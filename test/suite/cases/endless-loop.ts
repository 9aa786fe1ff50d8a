// Input of suite.test.ts: the test blocks its process.
import t from 'tap'

t.test('a test that never returns', async () => {
  for (;;);
})
