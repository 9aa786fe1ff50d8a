// Input of suite.test.ts: a child process of the test does not end.
import { once } from 'node:events'
import t from 'tap'
import { spawnChild } from '../../support/child-process.ts'

t.test('a test with a child that does not end', async () => {
  const child = spawnChild('sleep', ['1000'], { stdio: ['ignore', 'ignore', 'inherit'] })
  console.error('started')
  await once(child, 'exit')
})
