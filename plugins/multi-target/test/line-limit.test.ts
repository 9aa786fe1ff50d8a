import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { openLineLimit } from '../line-limit.ts'

t.test('an owner with many dead targets does not keep the lines of another owner out of the log', async t => {
  const clock = fakeClock()
  const limited = openLineLimit(clock)
  const lines: string[] = []
  const log = (owner: string): void => limited(owner, suppressed => void lines.push(`${owner} ${suppressed}`))

  for (let i = 0; i < 100; i++) log('ann')
  log('bob')
  t.equal(lines.length, 21)
  t.equal(lines.at(-1), 'bob 0')
  await clock.advance(60_000)
  log('ann')

  t.equal(lines.at(-1), 'ann 80')
})
